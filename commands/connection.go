package commands

import (
	"fmt"
	"strconv"

	"limitsrv/commands/resp"
)

// redisVersion is the version of Redis that is reported to clients, because they choose
// their commands by it.
const redisVersion = "7.2.4"

// databases is the number of database numbers that SELECT accepts; all are the same
// database.
const databases = 16

var (
	errDBRange = resp.NewError("ERR", "DB index is out of range")
	errNotInt  = resp.NewError("ERR", "value is not an integer or out of range")
	errSyntax  = resp.NewError("ERR", "syntax error")
)

var ping = Command{
	Name: "PING", Args: "[message]", Summary: "Returns PONG, or the message.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: Fast | Listener,
	Run: runPing,
}

// runPing answers in the form of a message to a RESP2 client with subscriptions, because
// it would take any other form for a message.
func runPing(s *Session, args [][]byte) {
	var message []byte
	if len(args) > 1 {
		message = args[1]
	}
	switch {
	case s.listens.count() > 0 && !s.w.Proto3:
		s.w.Array(2)
		s.w.BulkString("pong")
		s.w.Bulk(message)
	case len(args) > 1:
		s.w.Bulk(message)
	default:
		s.w.Simple("PONG")
	}
}

var echo = Command{
	Name: "ECHO", Args: "message", Summary: "Returns the message.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: Fast | Loading | Stale,
	Run: func(s *Session, args [][]byte) { s.w.Bulk(args[1]) },
}

var quit = Command{
	Name: "QUIT", Summary: "Closes the connection.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: NoScript | Loading | Stale | Fast | NoAuth | Immediate | Listener | Unpaused,
	Run: func(s *Session, _ [][]byte) {
		s.w.OK()
		s.closing = true
	},
}

var reset = Command{
	Name: "RESET", Summary: "Resets the connection: RESP2, no transaction, not logged in.",
	Complexity: "O(1)", Since: "6.2.0", Group: "connection", Flags: NoScript | Loading | Stale | Fast | NoAuth | Immediate | Listener,
	Run: func(s *Session, _ [][]byte) {
		s.deafen()
		s.endTransaction()
		s.quiet = speak
		s.stale = false
		s.w.Proto3 = false
		s.setAccount(s.h.logins.Initial())
		s.restrict()
		s.show(func(c *shown) { c.name, c.db, c.proto3 = "", 0, false })
		s.w.Simple("RESET")
	},
}

var selectDB = Command{
	Name: "SELECT", Args: "index", Summary: fmt.Sprintf("Accepts a database number from 0 to %d; all are the same database. In a cluster only 0.", databases-1),
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: Loading | Stale | Fast,
	Run: func(s *Session, args [][]byte) {
		n, err := strconv.Atoi(string(args[1]))
		switch {
		case err != nil:
			s.w.Error(errNotInt)
		case n != 0 && s.h.config.Cluster.Enabled():
			s.w.Error(errClusterDB)
		case n < 0 || n >= databases:
			s.w.Error(errDBRange)
		default:
			s.show(func(c *shown) { c.db = n })
			s.w.OK()
		}
	},
}
