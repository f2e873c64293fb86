package commands

import (
	"strconv"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
)

var (
	errNoAuth    = resp.NewError("NOAUTH", "Authentication required.")
	errNoPass    = resp.NewError("ERR", "AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	errNoProto   = resp.NewError("NOPROTO", "unsupported protocol version")
	errProtoInt  = resp.NewError("ERR", "Protocol version is not an integer or out of range")
	errHelloAuth = resp.NewError("NOAUTH", "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
)

var authCommand = Command{
	Name: "AUTH", Args: "[username] password", Summary: "Logs the connection in.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: NoScript | Loading | Stale | Fast | NoAuth | Secret,
	Run: func(s *Session, args [][]byte) {
		user, password := []byte(auth.DefaultUser), args[len(args)-1]
		if len(args) == 3 {
			user = args[1]
		} else if !s.h.logins.Needed() {
			s.w.Error(errNoPass)
			return
		}
		s.login(user, password, (*resp.Writer).OK)
	},
}

var hello = Command{
	Name: "HELLO", Args: "[protover [AUTH username password] [SETNAME clientname]]", Summary: "Switches the protocol and optionally logs in.",
	Complexity: "O(1)", Since: "6.0.0", Group: "connection", Flags: NoScript | Loading | Stale | Fast | NoAuth | Secret,
	Run: runHello,
}

// login logs the session in; answer writes the reply, perhaps later. On an error the
// error is the reply and nothing changes. It is rejected in a transaction, which can not
// wait for it.
func (s *Session) login(name, password []byte, answer func(*resp.Writer)) {
	if s.tx.running {
		s.w.Error(errNoMulti)
		return
	}
	var (
		a      *auth.Account
		cancel func()
	)
	s.deferReply(func(done func(error)) error {
		cancel = s.h.logins.Begin(s.client.Addr, string(name), password, func(found *auth.Account, err error) {
			a = found
			done(err)
		})
		return nil
	}, func(w *resp.Writer) {
		if err := s.switchAccount(a); err != nil {
			w.Error(err)
			return
		}
		answer(w)
	})
	s.later.cancel = cancel
}

// runHello changes nothing if any part of the command is invalid.
func runHello(s *Session, args [][]byte) {
	var (
		proto3         = s.w.Proto3
		name           []byte
		user, password []byte // nil: no AUTH
	)
	if len(args) > 1 {
		version, err := strconv.ParseInt(string(args[1]), 10, 64)
		if err != nil {
			s.w.Error(errProtoInt)
			return
		}
		if version != 2 && version != 3 {
			s.w.Error(errNoProto)
			return
		}
		proto3 = version == 3
		args = args[2:]
	} else {
		args = nil
	}
	for len(args) > 0 {
		switch {
		case isWord(args[0], "AUTH") && len(args) > 2:
			user, password = args[1], args[2]
			args = args[3:]
		case isWord(args[0], "SETNAME") && len(args) > 1:
			if err := checkName(args[1]); err != nil {
				s.w.Error(err)
				return
			}
			name = args[1]
			args = args[2:]
		default:
			s.w.Error(resp.NewError("ERR", "Syntax error in HELLO option '"+cString(args[0])+"'"))
			return
		}
	}
	greet := func(*resp.Writer) {
		s.w.Proto3 = proto3
		s.restrict()
		s.show(func(c *shown) {
			c.proto3 = proto3
			if name != nil {
				c.name = string(name)
			}
		})
		s.greet()
	}
	switch {
	case user != nil:
		s.login(user, password, greet)
	case s.account == nil:
		s.w.Error(errHelloAuth)
	default:
		greet(&s.w)
	}
}

// helloRoles maps roles to the words of HELLO.
var helloRoles = map[string]string{"master": "master", "slave": "replica"}

// greet writes the reply of HELLO.
func (s *Session) greet() {
	w := &s.w
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
	w.Int(s.id)
	w.BulkString("mode")
	w.BulkString(s.h.mode())
	w.BulkString("role")
	w.BulkString(helloRoles[s.h.role()])
	w.BulkString("modules")
	w.Array(0)
}

// show changes the fields of CLIENT LIST.
func (s *Session) show(change func(*shown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.shown)
}
