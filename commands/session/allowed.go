package session

import (
	"slices"

	"limitsrv/commands/resp"
)

// mayRun returns an error if c is not allowed in the current state: before login, or in
// RESP2 with subscriptions, because the client could not tell a reply from a message.
func (s *Session) mayRun(c *Spec) error {
	switch {
	case s.account == nil && c.Flags&NoAuth == 0:
		return errNoAuth
	case s.MustPush() && c.Flags&Listener == 0:
		return resp.NewError("ERR", "Can't execute '"+c.FullName+"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	}
	return nil
}

var (
	errNoAuth  = resp.NewError("NOAUTH", "Authentication required.")
	errLoading = resp.NewError("LOADING", "limitsrv is loading the dataset in memory")
)

// mayRunLoading returns an error if c, or a command that it executes, must not run while the state
// is loading.
func (s *Session) mayRunLoading(c *Spec) error {
	if c.Flags&Loading == 0 ||
		c.Flags&Executes != 0 && slices.ContainsFunc(s.tx.queue, func(q queued) bool { return q.spec.Flags&Loading == 0 }) {
		return errLoading
	}
	return nil
}
