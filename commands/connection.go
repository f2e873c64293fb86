package commands

import (
	"fmt"
	"strconv"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// redisVersion is the version of Redis that is reported to clients, because they choose
// their commands by it. redis-py and Jedis keep values from 7.4 on only.
const redisVersion = "7.4.0"

var (
	errDBRange  = resp.NewError("ERR", datatypes.DBRange)
	errNotInt32 = resp.NewError("ERR", datatypes.NotInt32)
	errNotInt   = resp.NewError("ERR", "value is not an integer or out of range")
	errSyntax   = resp.NewError("ERR", "syntax error")
)

// always returns a Command.Surplus that always returns err.
func always(err error) func(args [][]byte) error { return func([][]byte) error { return err } }

var ping = spec.Command{
	Name: "PING", Args: "[message]", Summary: "Returns PONG, or the message.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: spec.Fast | spec.Listener,
	Body: session.Run(runPing),
}

// runPing answers in the form of a message to a RESP2 client with subscriptions, because
// it would take any other form for a message.
func runPing(s *session.Session, w *resp.Writer, args [][]byte) {
	var message []byte
	if len(args) > 1 {
		message = args[1]
	}
	switch {
	case s.MustPush():
		w.Array(2)
		w.BulkString("pong")
		w.Bulk(message)
	case len(args) > 1:
		w.Bulk(message)
	default:
		w.Simple("PONG")
	}
}

var echo = spec.Command{
	Name: "ECHO", Args: "message", Summary: "Returns the message.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: spec.Fast | spec.Loading | spec.Stale,
	Body: session.Run(func(_ *session.Session, w *resp.Writer, args [][]byte) { w.Bulk(args[1]) }),
}

var quit = spec.Command{
	Name: "QUIT", Summary: "Closes the connection.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast |
		spec.NoAuth | spec.Immediate | spec.Listener | spec.Unpaused,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		w.OK()
		s.CloseAfterReply()
	}),
}

var reset = spec.Command{
	Name: "RESET", Summary: "Resets the connection: RESP2, no transaction, not logged in.",
	Complexity: "O(1)", Since: "6.2.0", Group: "connection",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast | spec.NoAuth | spec.Immediate | spec.Listener,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		s.Reset()
		w.Simple("RESET")
	}),
}

var selectDB = spec.Command{
	Name: "SELECT", Args: "index", Summary: fmt.Sprintf("Selects the database of the keys of the connection's commands, "+
		"from 0 to %d. In cluster mode only 0.", engine.Databases-1),
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: spec.Loading | spec.Stale | spec.Fast,
	Body: &session.Special{Run: func(s *session.Session, w *resp.Writer, args [][]byte) {
		db, err := parseDB(s, args[1])
		if err != nil {
			w.Error(err)
			return
		}
		s.Select(db)
		w.OK()
	}, Ahead: func(s *session.Session, args [][]byte) {
		if db, err := parseDB(s, args[1]); err == nil {
			s.Select(db)
		}
	}},
}

// parseDB parses the number of a database that the session may select.
func parseDB(s *session.Session, arg []byte) (db uint8, err error) {
	n, wrong := strconv.ParseInt(string(arg), 10, 64)
	switch {
	case wrong != nil:
		return 0, errNotInt
	case n != int64(int32(n)):
		return 0, errNotInt32
	case n != 0 && s.Handler().Config().Cluster.Enabled():
		return 0, errClusterDB
	case n < 0 || n >= engine.Databases:
		return 0, errDBRange
	}
	return uint8(n), nil
}
