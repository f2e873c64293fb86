package commands

import (
	"strconv"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

var (
	errNoPass = resp.NewError("ERR", "AUTH <password> called without any password configured for the default user. "+
		"Are you sure your configuration is correct?")
	errNoProto   = resp.NewError("NOPROTO", "unsupported protocol version")
	errProtoInt  = resp.NewError("ERR", "Protocol version is not an integer or out of range")
	errHelloAuth = resp.NewError("NOAUTH", "HELLO must be called with the client already authenticated, otherwise the "+
		"HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol "+
		"version at the same time")
)

var authCommand = spec.Command{
	Surplus: always(errSyntax), Name: "AUTH", Args: "[username] password", Summary: "Logs the connection in.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast | spec.NoAuth | spec.Secret,
	Body:  &session.Special{Run: runAuth, Login: authLine},
}

// authLine returns the user and the password of an AUTH. ok is false if the default user has no
// password.
func authLine(s *session.Session, args [][]byte) (name, password []byte, ok bool) {
	if len(args) == 2 {
		return []byte(auth.DefaultUser), args[1], s.Handler().Logins().Needed()
	}
	return args[1], args[2], true
}

func runAuth(s *session.Session, w *resp.Writer, args [][]byte) {
	name, password, ok := authLine(s, args)
	if !ok {
		w.Error(errNoPass)
		return
	}
	s.Login(name, password, (*resp.Writer).OK)
}

var hello = spec.Command{
	Name: "HELLO", Args: "[protover [AUTH username password] [SETNAME clientname]]",
	Summary:    "Switches the protocol and optionally logs in.",
	Complexity: "O(1)", Since: "6.0.0", Group: "connection",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast | spec.NoAuth | spec.Secret | spec.AuthWord,
	Body: &session.Special{Run: runHello, Login: func(_ *session.Session, args [][]byte) (name, password []byte, ok bool) {
		g, err := parseHello(args)
		return g.user, g.password, err == nil && g.user != nil
	}},
}

// A greeting has the arguments of HELLO.
type greeting struct {
	version        int    // of the protocol; 0: as before
	name           []byte // nil: as before
	user, password []byte // nil: no AUTH
}

func parseHello(args [][]byte) (g greeting, err error) {
	if len(args) == 1 {
		return g, nil
	}
	switch version, err := strconv.ParseInt(string(args[1]), 10, 64); {
	case err != nil:
		return g, errProtoInt
	case version != 2 && version != 3:
		return g, errNoProto
	default:
		g.version = int(version)
	}
	for args = args[2:]; len(args) > 0; {
		switch {
		case word.Is(args[0], "AUTH") && len(args) > 2:
			g.user, g.password = args[1], args[2]
			args = args[3:]
		case word.Is(args[0], "SETNAME") && len(args) > 1:
			if err := checkName(args[1]); err != nil {
				return g, err
			}
			g.name = args[1]
			args = args[2:]
		default:
			return g, resp.NewError("ERR", "Syntax error in HELLO option '"+word.CString(args[0])+"'")
		}
	}
	return g, nil
}

// runHello changes nothing if any part of the command is invalid.
func runHello(s *session.Session, w *resp.Writer, args [][]byte) {
	g, err := parseHello(args)
	if err != nil {
		w.Error(err)
		return
	}
	answer := func(w *resp.Writer) {
		if g.version > 0 {
			s.SetProtocol(g.version == 3)
		}
		if g.name != nil {
			s.SetLabels(func(l *session.Labels) { l.Name = string(g.name) })
		}
		greet(s, w)
	}
	switch {
	case g.user != nil:
		s.Login(g.user, g.password, answer)
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
