package commands

import (
	"strconv"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/word"
)

// A filter selects connections for CLIENT KILL.
type filter struct {
	id          int64 // 0: any
	addr, laddr string
	ofType      func(session.Info) bool // nil: any
	user        string                  // empty: any
	skipMe      bool
}

func runKill(s *session.Session, w *resp.Writer, args [][]byte) {
	if len(args) == 3 { // the old form, which closes a connection, including the caller's
		if kill(s, filter{addr: string(args[2])}) == 0 {
			w.Error(errNoClient)
			return
		}
		w.OK()
		return
	}
	f, err := parseFilter(args[2:])
	if err == nil && f.user != "" && s.Handler().Logins().Find(f.user) == nil && f.user != auth.DefaultUser {
		err = resp.NewError("ERR", "No such user '"+word.CString([]byte(f.user))+"'")
	}
	if err != nil {
		w.Error(err)
		return
	}
	w.Int(kill(s, f))
}

func parseFilter(args [][]byte) (filter, error) {
	f := filter{skipMe: true}
	if len(args)%2 != 0 {
		return f, errSyntax
	}
	for ; len(args) > 0; args = args[2:] {
		value := string(args[1])
		switch {
		case word.Is(args[0], "ID"):
			id, err := strconv.ParseInt(value, 10, 64)
			if err != nil || id <= 0 {
				return f, errClientID
			}
			f.id = id
		case word.Is(args[0], "ADDR"):
			f.addr = value
		case word.Is(args[0], "LADDR"):
			f.laddr = value
		case word.Is(args[0], "TYPE"):
			var err error
			if f.ofType, err = ofType(args[1]); err != nil {
				return f, err
			}
		case word.Is(args[0], "USER"):
			f.user = value
		case word.Is(args[0], "SKIPME") && (word.Is(args[1], "YES") || word.Is(args[1], "NO")):
			f.skipMe = word.Is(args[1], "YES")
		default:
			return f, errSyntax
		}
	}
	return f, nil
}

// kill closes the connections that f selects and returns their number. The connection of
// by, the caller, is closed after the reply.
func kill(by *session.Session, f filter) (killed int64) {
	now := time.Now()
	for _, s := range by.Handler().Sessions() {
		if s == by && f.skipMe || !f.selects(s.Info(now)) {
			continue
		}
		killed++
		if s == by {
			s.CloseAfterReply()
			continue
		}
		s.Disconnect()
	}
	return killed
}

// selects reports whether a connection passes all filters except skipMe.
func (f *filter) selects(c session.Info) bool {
	return (f.ofType == nil || f.ofType(c)) && (f.id == 0 || c.ID == f.id) && (f.addr == "" || c.Addr == f.addr) &&
		(f.laddr == "" || c.LocalAddr == f.laddr) && (f.user == "" || c.User == f.user)
}
