package commands

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/resp"
)

var (
	errName     = resp.NewError("ERR", "Client names cannot contain spaces, newlines or special characters.")
	errNoClient = resp.NewError("ERR", "No such client")
	errClientID = resp.NewError("ERR", "client-id should be greater than 0")
	errTracking = resp.NewError("ERR", "client side caching is not supported: only CLIENT TRACKING ON OPTIN, without CLIENT CACHING, is accepted")
	errCaching  = resp.NewError("ERR", "CLIENT CACHING is not supported: limits change with every decision")
	errUnblock  = resp.NewError("ERR", "CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	errLibAttr  = resp.NewError("ERR", "Unrecognized option: CLIENT SETINFO takes LIB-NAME or LIB-VER")
)

// maxClientNameBytes bounds the values of CLIENT SETNAME and SETINFO.
const maxClientNameBytes = 256

var client = Command{
	Name: "CLIENT", Summary: "Commands about connections.",
	Complexity: "Depends on the subcommand", Since: "2.4.0", Group: "connection",
	Sub: []Command{
		clientSub("CACHING", "YES|NO", "Rejected: client side caching is not supported.", 0, func(s *Session, _ [][]byte) { s.w.Error(errCaching) }),
		clientSub("GETNAME", "", "Returns the name of the connection.", 0, runGetName),
		clientSub("GETREDIR", "", "Returns -1: invalidations are not redirected.", 0, func(s *Session, _ [][]byte) { s.w.Int(-1) }),
		clientSub("ID", "", "Returns the id of the connection.", 0, func(s *Session, _ [][]byte) { s.w.Int(s.id) }),
		clientSub("INFO", "", "Describes the connection.", 0, func(s *Session, args [][]byte) { s.w.Verbatim(s.line(time.Now(), wordBytes(args))) }),
		clientSub("KILL", "<ip:port | <ID client-id | ADDR ip:port | LADDR ip:port | TYPE type | USER username | SKIPME YES|NO ...>>",
			"Closes connections.", Admin, runKill),
		clientSub("LIST", "[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]", "Describes all connections.", Admin, runClientList),
		clientSub("NO-EVICT", "ON|OFF", "Accepted: connections are not evicted.", Admin, runOnOff),
		clientSub("NO-TOUCH", "ON|OFF", "Accepted: reading does not touch keys.", 0, runOnOff),
		clientSub("PAUSE", "timeout [WRITE|ALL]", "Suspends commands for timeout milliseconds: only those that write, or all.", Admin, runPause),
		clientSub("REPLY", "ON|OFF|SKIP", "Switches replies to commands on or off.", NoMulti, runClientReply),
		clientSub("SETINFO", "<LIB-NAME libname | LIB-VER libver>", "Sets the name or version of the client library.", 0, runSetInfo),
		clientSub("SETNAME", "connection-name", "Sets the name of the connection.", 0, runSetName),
		clientSub("TRACKING", "ON|OFF [option ...]", "Accepts OFF, and ON OPTIN, which tracks nothing.", 0, runTracking),
		clientSub("TRACKINGINFO", "", "Returns the tracking state, which is always off.", 0, runTrackingInfo),
		clientSub("UNPAUSE", "", "Ends CLIENT PAUSE.", Admin|Unpaused, func(s *Session, _ [][]byte) {
			s.h.unpause()
			s.w.OK()
		}),
		clientSub("UNBLOCK", "client-id [TIMEOUT|ERROR]", "Returns 0: no command blocks.", Admin, runUnblock),
	},
}

// clientSub makes a subcommand of CLIENT.
func clientSub(name, args, summary string, flags Flags, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(1)", Since: "7.2.0", Group: "connection",
		Flags: flags | NoScript | Loading | Stale, Run: run,
	}
}

// checkName rejects names that would break the lines of CLIENT LIST.
func checkName(name []byte) error {
	if len(name) > maxClientNameBytes {
		return errName
	}
	for _, c := range name {
		if c < '!' || c > '~' {
			return errName
		}
	}
	return nil
}

func runGetName(s *Session, _ [][]byte) {
	if s.shown.name == "" {
		s.w.Null()
		return
	}
	s.w.BulkString(s.shown.name)
}

func runSetName(s *Session, args [][]byte) {
	if err := checkName(args[2]); err != nil {
		s.w.Error(err)
		return
	}
	s.show(func(c *shown) { c.name = string(args[2]) })
	s.w.OK()
}

func runSetInfo(s *Session, args [][]byte) {
	if err := checkName(args[3]); err != nil {
		s.w.Error(resp.NewError("ERR", strings.ToLower(cString(args[2]))+" cannot contain spaces, newlines or special characters."))
		return
	}
	switch {
	case isWord(args[2], "LIB-NAME"):
		s.show(func(c *shown) { c.libName = string(args[3]) })
	case isWord(args[2], "LIB-VER"):
		s.show(func(c *shown) { c.libVer = string(args[3]) })
	default:
		s.w.Error(errLibAttr)
		return
	}
	s.w.OK()
}

func runOnOff(s *Session, args [][]byte) {
	if !isWord(args[2], "ON") && !isWord(args[2], "OFF") {
		s.w.Error(errSyntax)
		return
	}
	s.w.OK()
}

func runClientReply(s *Session, args [][]byte) {
	switch {
	case isWord(args[2], "ON"):
		s.quiet = speak
		s.w.OK()
	case isWord(args[2], "OFF"):
		s.quiet = silent
	case isWord(args[2], "SKIP"):
		if s.quiet != silent {
			s.quiet = skipping
		}
	default:
		s.w.Error(errSyntax)
	}
}

// runTracking accepts the options of clients that enable tracking but never cache.
func runTracking(s *Session, args [][]byte) {
	off := isWord(args[2], "OFF")
	if !off && !isWord(args[2], "ON") {
		s.w.Error(errSyntax)
		return
	}
	optIn := isWord(args[2], "ON") && len(args) == 4 && isWord(args[3], "OPTIN")
	if !off && !optIn {
		s.w.Error(errTracking)
		return
	}
	s.w.OK()
}

func runTrackingInfo(s *Session, _ [][]byte) {
	w := &s.w
	w.Map(3)
	w.BulkString("flags")
	w.Set(1)
	w.BulkString("off")
	w.BulkString("redirect")
	w.Int(-1)
	w.BulkString("prefixes")
	w.Array(0)
}

func runUnblock(s *Session, args [][]byte) {
	if _, err := strconv.ParseInt(string(args[2]), 10, 64); err != nil {
		s.w.Error(errNotInt)
		return
	}
	if len(args) == 4 && !isWord(args[3], "TIMEOUT") && !isWord(args[3], "ERROR") {
		s.w.Error(errUnblock)
		return
	}
	s.w.Int(0)
}

// all returns the sessions in order of their ids.
func (h *Handler) all() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	sessions := make([]*Session, 0, len(h.sessions))
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	return sessions
}

func runClientList(s *Session, args [][]byte) {
	want := func(*Session) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 4 && isWord(args[2], "TYPE"):
		var err error
		if want, err = ofType(args[3]); err != nil {
			s.w.Error(err)
			return
		}
	case len(args) > 3 && isWord(args[2], "ID"):
		ids := make(map[int64]bool)
		for _, a := range args[3:] {
			id, err := strconv.ParseInt(string(a), 10, 64)
			if err != nil || id <= 0 {
				s.w.Error(resp.NewError("ERR", "Invalid client ID"))
				return
			}
			ids[id] = true
		}
		want = func(s *Session) bool { return ids[s.id] }
	default:
		s.w.Error(errSyntax)
		return
	}
	var list strings.Builder
	now := time.Now()
	for _, c := range s.h.all() {
		if !want(c) {
			continue
		}
		words := int64(0) // 0 for other sessions: they run no command, or their query buffer holds it
		if c == s {
			words = wordBytes(args)
		}
		list.WriteString(c.line(now, words))
	}
	s.w.Verbatim(list.String())
}

// ofType returns the filter for a client type: pubsub for sessions with subscriptions,
// normal for all others.
func ofType(kind []byte) (func(*Session) bool, error) {
	switch {
	case isWord(kind, "NORMAL"):
		return func(s *Session) bool { return !s.subscribed() }, nil
	case isWord(kind, "PUBSUB"):
		return (*Session).subscribed, nil
	case isWord(kind, "MASTER"), isWord(kind, "SLAVE"), isWord(kind, "REPLICA"):
		return func(*Session) bool { return false }, nil
	}
	return nil, resp.NewError("ERR", "Unknown client type '"+cString(kind)+"'")
}

// subscribed reports whether the session has subscriptions. Any goroutine may call it.
func (s *Session) subscribed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.channels+s.shown.patterns > 0
}
