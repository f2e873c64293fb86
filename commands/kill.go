package commands

import (
	"strconv"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
)

// A filter selects connections for CLIENT KILL.
type filter struct {
	id          int64 // 0: any
	addr, laddr string
	ofType      func(*Session) bool // nil: any
	user        string              // empty: any
	skipMe      bool
}

func runKill(s *Session, args [][]byte) {
	if len(args) == 3 { // the old form, which closes one connection, including the caller's
		if s.h.kill(s, filter{addr: string(args[2])}) == 0 {
			s.w.Error(errNoClient)
			return
		}
		s.w.OK()
		return
	}
	f, err := parseFilter(args[2:])
	if err == nil && f.user != "" && s.h.logins.Find(f.user) == nil && f.user != auth.DefaultUser {
		err = resp.NewError("ERR", "No such user '"+cString([]byte(f.user))+"'")
	}
	if err != nil {
		s.w.Error(err)
		return
	}
	s.w.Int(s.h.kill(s, f))
}

func parseFilter(args [][]byte) (filter, error) {
	f := filter{skipMe: true}
	if len(args)%2 != 0 {
		return f, errSyntax
	}
	for ; len(args) > 0; args = args[2:] {
		value := string(args[1])
		switch {
		case isWord(args[0], "ID"):
			id, err := strconv.ParseInt(value, 10, 64)
			if err != nil || id <= 0 {
				return f, errClientID
			}
			f.id = id
		case isWord(args[0], "ADDR"):
			f.addr = value
		case isWord(args[0], "LADDR"):
			f.laddr = value
		case isWord(args[0], "TYPE"):
			var err error
			if f.ofType, err = ofType(args[1]); err != nil {
				return f, err
			}
		case isWord(args[0], "USER"):
			f.user = value
		case isWord(args[0], "SKIPME") && (isWord(args[1], "YES") || isWord(args[1], "NO")):
			f.skipMe = isWord(args[1], "YES")
		default:
			return f, errSyntax
		}
	}
	return f, nil
}

// kill closes the connections that f selects and returns their number. The connection of
// by, the caller, is closed after the reply.
func (h *Handler) kill(by *Session, f filter) (killed int64) {
	for _, s := range h.all() {
		if f.ofType != nil && !f.ofType(s) || f.id != 0 && s.id != f.id || f.addr != "" && s.client.Addr != f.addr ||
			f.laddr != "" && s.client.LocalAddr != f.laddr || f.skipMe && s == by || f.user != "" && s.user() != f.user {
			continue
		}
		killed++
		if s == by {
			s.closing = true
			continue
		}
		s.client.Close()
	}
	return killed
}
