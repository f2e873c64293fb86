package commands

import (
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

var (
	errName     = resp.NewError("ERR", "Client names cannot contain spaces, newlines or special characters.")
	errNoClient = resp.NewError("ERR", "No such client")
	errClientID = resp.NewError("ERR", "client-id should be greater than 0")
	errUnblock  = resp.NewError("ERR", "CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	errLibAttr  = resp.NewError("ERR", "Unrecognized option: CLIENT SETINFO takes LIB-NAME or LIB-VER")
)

// maxClientNameBytes bounds the values of CLIENT SETNAME and SETINFO.
const maxClientNameBytes = 256

var client = spec.Command{
	Name: "CLIENT", Summary: "Commands about connections.",
	Complexity: "See its subcommands", Since: "2.4.0", Group: "connection",
	Body: &spec.Container{Sub: []spec.Command{
		caching,
		clientSub("GETNAME", "", "Returns the name of the connection.", 0, runGetName),
		clientSub("GETREDIR", "", "Returns the id of the connection to which messages about changed keys go, 0 for this "+
			"one, -1 without tracking.", 0, runGetRedir),
		clientSub("ID", "", "Returns the id of the connection.", 0,
			func(s *session.Session, w *resp.Writer, _ [][]byte) { w.Int(s.ID()) }),
		clientSub("INFO", "", "Describes the connection.", 0, func(s *session.Session, w *resp.Writer, args [][]byte) {
			w.Verbatim(clientLine(s.Info(time.Now()), wordBytes(args)))
		}),
		clientSub("KILL",
			"<ip:port | <ID client-id | ADDR ip:port | LADDR ip:port | TYPE type | USER username | SKIPME YES|NO ...>>",
			"Closes connections.", spec.Admin, runKill),
		long(clientSub("LIST", "[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]",
			"Describes all connections.", spec.Admin, runClientList)),
		clientSub("NO-EVICT", "ON|OFF", "Accepted: connections are not evicted.", spec.Admin, runOnOff),
		clientSub("NO-TOUCH", "ON|OFF", "Accepted: reading does not touch keys.", 0, runOnOff),
		clientSub("PAUSE", "timeout [WRITE|ALL]",
			"Suspends commands for timeout milliseconds: only those that write, or all.", spec.Admin, runPause),
		clientSub("REPLY", "ON|OFF|SKIP", "Switches replies to commands on or off.", 0, runClientReply),
		clientSub("SETINFO", "<LIB-NAME libname | LIB-VER libver>", "Sets the name or version of the client library.", 0,
			runSetInfo),
		clientSub("SETNAME", "connection-name", "Sets the name of the connection.", 0, runSetName),
		tracking,
		clientSub("TRACKINGINFO", "", "Returns how the connection tracks keys.", 0, runTrackingInfo),
		clientSub("UNPAUSE", "", "Ends CLIENT PAUSE.", spec.Admin|spec.Unpaused,
			func(s *session.Session, w *resp.Writer, _ [][]byte) {
				s.Handler().Unpause()
				w.OK()
			}),
		clientSub("UNBLOCK", "client-id [TIMEOUT|ERROR]", "Ends the BLPOP or BRPOP with which a connection waits, as after "+
			"its timeout or with an error. Returns 1, or 0 if it does not wait.", spec.Admin, runUnblock),
	}},
}

// clientSub makes a subcommand of CLIENT.
func clientSub(name, args, summary string, flags spec.Flags, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(1)", Since: "7.2.0", Group: "connection",
		Flags: flags | spec.NoScript | spec.Loading | spec.Stale, Body: run,
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

func runGetName(s *session.Session, w *resp.Writer, _ [][]byte) {
	name := s.Labels().Name
	if name == "" {
		w.Null()
		return
	}
	w.BulkString(name)
}

func runSetName(s *session.Session, w *resp.Writer, args [][]byte) {
	if err := checkName(args[2]); err != nil {
		w.Error(err)
		return
	}
	s.SetLabels(func(l *session.Labels) { l.Name = string(args[2]) })
	w.OK()
}

func runSetInfo(s *session.Session, w *resp.Writer, args [][]byte) {
	if err := checkName(args[3]); err != nil {
		w.Error(resp.NewError("ERR",
			strings.ToLower(word.CString(args[2]))+" cannot contain spaces, newlines or special characters."))
		return
	}
	switch {
	case word.Is(args[2], "LIB-NAME"):
		s.SetLabels(func(l *session.Labels) { l.LibName = string(args[3]) })
	case word.Is(args[2], "LIB-VER"):
		s.SetLabels(func(l *session.Labels) { l.LibVer = string(args[3]) })
	default:
		w.Error(errLibAttr)
		return
	}
	w.OK()
}

func runOnOff(_ *session.Session, w *resp.Writer, args [][]byte) {
	if !word.Is(args[2], "ON") && !word.Is(args[2], "OFF") {
		w.Error(errSyntax)
		return
	}
	w.OK()
}

func runClientReply(s *session.Session, w *resp.Writer, args [][]byte) {
	switch {
	case word.Is(args[2], "ON"):
		s.SetReplies(session.RepliesOn)
		w.OK()
	case word.Is(args[2], "OFF"):
		s.SetReplies(session.RepliesOff)
	case word.Is(args[2], "SKIP"):
		s.SetReplies(session.SkipReply)
	default:
		w.Error(errSyntax)
	}
}

func runUnblock(s *session.Session, w *resp.Writer, args [][]byte) {
	withError := len(args) == 4 && word.Is(args[3], "ERROR")
	if len(args) == 4 && !withError && !word.Is(args[3], "TIMEOUT") {
		w.Error(errUnblock)
		return
	}
	id, err := strconv.ParseInt(string(args[2]), 10, 64)
	if err != nil {
		w.Error(errNotInt)
		return
	}
	if s.Handler().Unblock(id, withError) {
		w.Int(1)
		return
	}
	w.Int(0)
}

func runClientList(s *session.Session, w *resp.Writer, args [][]byte) {
	want := func(session.Info) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 4 && word.Is(args[2], "TYPE"):
		var err error
		if want, err = ofType(args[3]); err != nil {
			w.Error(err)
			return
		}
	case len(args) > 3 && word.Is(args[2], "ID"):
		ids := make(map[int64]bool)
		for _, a := range args[3:] {
			id, err := strconv.ParseInt(string(a), 10, 64)
			if err != nil || id <= 0 {
				w.Error(resp.NewError("ERR", "Invalid client ID"))
				return
			}
			ids[id] = true
		}
		want = func(i session.Info) bool { return ids[i.ID] }
	default:
		w.Error(errSyntax)
		return
	}
	var list strings.Builder
	now := time.Now()
	for _, c := range s.Handler().Sessions() {
		info := c.Info(now)
		if !want(info) {
			continue
		}
		bytes := int64(0) // 0 for other sessions: they run no command, or their query buffer holds it
		if c == s {
			bytes = wordBytes(args)
		}
		list.WriteString(clientLine(info, bytes))
	}
	w.Verbatim(list.String())
}

// ofType returns the filter for a client type: pubsub for sessions with subscriptions,
// normal for all other sessions.
func ofType(kind []byte) (func(session.Info) bool, error) {
	subscribed := func(i session.Info) bool { return i.Channels+i.Patterns > 0 }
	switch {
	case word.Is(kind, "NORMAL"):
		return func(i session.Info) bool { return !subscribed(i) }, nil
	case word.Is(kind, "PUBSUB"):
		return subscribed, nil
	case word.Is(kind, "MASTER"), word.Is(kind, "SLAVE"), word.Is(kind, "REPLICA"):
		return func(session.Info) bool { return false }, nil
	}
	return nil, resp.NewError("ERR", "Unknown client type '"+word.CString(kind)+"'")
}
