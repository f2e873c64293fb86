package commands

import (
	"crypto/sha256"
	"crypto/subtle"
	"strconv"
)

var (
	errNoAuth    = &Error{"NOAUTH", "Authentication required."}
	errWrongPass = &Error{"WRONGPASS", "invalid username-password pair or user is disabled."}
	errNoPass    = &Error{"ERR", "AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"}
	errNoProto   = &Error{"NOPROTO", "unsupported protocol version"}
	errProtoInt  = &Error{"ERR", "Protocol version is not an integer or out of range"}
	errHelloAuth = &Error{"NOAUTH", "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"}
)

var auth = Command{
	Name: "AUTH", Args: "[username] password", Summary: "Logs the connection in.",
	Complexity: "O(1)", Since: "1.0.0", Group: "connection", Flags: NoScript | Loading | Stale | Fast | NoAuth,
	Run: func(s *Session, args [][]byte) {
		user, password := []byte(defaultUser), args[len(args)-1]
		if len(args) == 3 {
			user = args[1]
		} else if s.h.config.Password == "" {
			s.w.Error(errNoPass)
			return
		}
		if !s.h.mayLogin(user, password) {
			s.w.Error(errWrongPass)
			return
		}
		s.loggedIn = true
		s.restrict()
		s.w.OK()
	},
}

var hello = Command{
	Name: "HELLO", Args: "[protover [AUTH username password] [SETNAME clientname]]", Summary: "Greets the server and chooses the protocol.",
	Complexity: "O(1)", Since: "6.0.0", Group: "connection", Flags: NoScript | Loading | Stale | Fast | NoAuth,
	Run: runHello,
}

// defaultUser is the only user there is.
const defaultUser = "default"

// mayLogin compares in a time that tells nothing about the password.
func (h *Handler) mayLogin(user, password []byte) bool {
	if string(user) != defaultUser {
		return false
	}
	if h.config.Password == "" {
		return true
	}
	given := sha256.Sum256(password)
	return subtle.ConstantTimeCompare(given[:], h.password[:]) == 1
}

// runHello changes nothing unless all of it is right.
func runHello(s *Session, args [][]byte) {
	var (
		proto3   = s.w.proto3
		loggedIn = s.loggedIn
		name     []byte
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
			if !s.h.mayLogin(args[1], args[2]) {
				s.w.Error(errWrongPass)
				return
			}
			loggedIn = true
			args = args[3:]
		case isWord(args[0], "SETNAME") && len(args) > 1:
			if err := checkName(args[1]); err != nil {
				s.w.Error(err)
				return
			}
			name = args[1]
			args = args[2:]
		default:
			s.w.Error(&Error{"ERR", "Syntax error in HELLO option '" + cString(args[0]) + "'"})
			return
		}
	}
	if !loggedIn {
		s.w.Error(errHelloAuth)
		return
	}
	s.loggedIn, s.w.proto3 = true, proto3
	s.restrict()
	s.show(func(c *shown) {
		c.proto3 = proto3
		if name != nil {
			c.name = string(name)
		}
	})
	s.greet()
}

// helloRoles are HELLO's words for roles.
var helloRoles = map[string]string{"master": "master", "slave": "replica"}

// greet writes HELLO's reply.
func (s *Session) greet() {
	w := &s.w
	w.Map(7)
	w.BulkString("server")
	w.BulkString("redis")
	w.BulkString("version")
	w.BulkString(redisVersion)
	w.BulkString("proto")
	if w.proto3 {
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

// show changes what CLIENT LIST tells.
func (s *Session) show(change func(*shown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.shown)
}
