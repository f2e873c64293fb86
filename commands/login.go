package commands

import (
	"strconv"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/word"
)

var (
	errNoPass    = resp.NewError("ERR", "AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	errNoProto   = resp.NewError("NOPROTO", "unsupported protocol version")
	errProtoInt  = resp.NewError("ERR", "Protocol version is not an integer or out of range")
	errHelloAuth = resp.NewError("NOAUTH", "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
)

var authCommand = session.Command{
	Surplus: always(errSyntax), Name: "AUTH", Args: "[username] password", Summary: "Logs the connection in.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: session.NoScript | session.Loading | session.Stale | session.Fast | session.NoAuth | session.Secret,
	Run: func(s *session.Session, w *resp.Writer, args [][]byte) {
		user, password := []byte(auth.DefaultUser), args[len(args)-1]
		if len(args) == 3 {
			user = args[1]
		} else if !s.Handler().Logins().Needed() {
			w.Error(errNoPass)
			return
		}
		login(s, user, password, (*resp.Writer).OK)
	},
}

var hello = session.Command{
	Name: "HELLO", Args: "[protover [AUTH username password] [SETNAME clientname]]", Summary: "Switches the protocol and optionally logs in.",
	Complexity: "O(1)", Since: "6.0.0", Group: "connection", Flags: session.NoScript | session.Loading | session.Stale | session.Fast | session.NoAuth | session.Secret | session.AuthWord,
	Run: runHello,
}

// login logs the session in; answer writes the reply, perhaps later. On an error the
// error is the reply and nothing changes.
func login(s *session.Session, name, password []byte, answer func(*resp.Writer)) {
	var a *auth.Account
	s.Defer(func(done func(error)) (func(), error) {
		return s.Handler().Logins().Begin(s.Addr(), string(name), password, func(found *auth.Account, err error) {
			a = found
			done(err)
		}), nil
	}, func(w *resp.Writer) {
		if err := s.SwitchAccount(a); err != nil {
			w.Error(err)
			return
		}
		answer(w)
	})
}

// runHello changes nothing if any part of the command is invalid.
func runHello(s *session.Session, w *resp.Writer, args [][]byte) {
	var (
		proto3         = w.Proto3
		name           []byte
		user, password []byte // nil: no AUTH
	)
	if len(args) > 1 {
		version, err := strconv.ParseInt(string(args[1]), 10, 64)
		if err != nil {
			w.Error(errProtoInt)
			return
		}
		if version != 2 && version != 3 {
			w.Error(errNoProto)
			return
		}
		proto3 = version == 3
		args = args[2:]
	} else {
		args = nil
	}
	for len(args) > 0 {
		switch {
		case word.Is(args[0], "AUTH") && len(args) > 2:
			user, password = args[1], args[2]
			args = args[3:]
		case word.Is(args[0], "SETNAME") && len(args) > 1:
			if err := checkName(args[1]); err != nil {
				w.Error(err)
				return
			}
			name = args[1]
			args = args[2:]
		default:
			w.Error(resp.NewError("ERR", "Syntax error in HELLO option '"+word.CString(args[0])+"'"))
			return
		}
	}
	answer := func(w *resp.Writer) {
		s.SetProtocol(proto3)
		if name != nil {
			s.SetLabels(func(l *session.Labels) { l.Name = string(name) })
		}
		greet(s, w)
	}
	switch {
	case user != nil:
		login(s, user, password, answer)
	case s.Account() == nil:
		w.Error(errHelloAuth)
	default:
		answer(w)
	}
}

// helloRoles maps roles to the words of HELLO.
var helloRoles = map[string]string{"master": "master", "slave": "replica"}

// greet writes the reply of HELLO.
func greet(s *session.Session, w *resp.Writer) {
	w.Map(7)
	w.BulkString("server")
	w.BulkString("redis")
	w.BulkString("version")
	w.BulkString(redisVersion)
	w.BulkString("proto")
	if w.Proto3 {
		w.Int(3)
	} else {
		w.Int(2)
	}
	w.BulkString("id")
	w.Int(s.ID())
	w.BulkString("mode")
	w.BulkString(modeOf(s.Handler()))
	w.BulkString("role")
	w.BulkString(helloRoles[roleOf(s.Handler())])
	w.BulkString("modules")
	w.Array(0)
}
