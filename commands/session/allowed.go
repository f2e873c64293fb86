package session

import (
	"slices"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
)

// mayRun returns an error if c is not allowed in the current state: before login, or in
// RESP2 with subscriptions, because the client could not tell a reply from a message.
func (s *Session) mayRun(c *Spec) error {
	switch {
	case s.account == nil && c.Flags&spec.NoAuth == 0:
		return errNoAuth
	case s.MustPush() && c.Flags&spec.Listener == 0:
		return resp.NewError("ERR", "Can't execute '"+c.FullName+
			"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
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
	if c.Flags&spec.Loading == 0 ||
		c.Flags&spec.Executes != 0 &&
			slices.ContainsFunc(s.tx.queue, func(q queued) bool { return q.spec.Flags&spec.Loading == 0 }) {
		return errLoading
	}
	return nil
}

// reject adds an error reply for a command that is not executed; an open transaction
// becomes dirty. An EXEC discards it.
func (s *Session) reject(c *Spec, err error) {
	if c != nil {
		s.stats[c.ID].rejected.Add(1)
		s.rejectRequest(c, err)
		if c.Flags&spec.Executes != 0 {
			err = s.rejectExec(err)
		}
	}
	s.tx.dirty, s.fresh = s.tx.open, freshness{}
	s.endCaching()
	s.add(item{err: err})
}

// rejectExec ends the transaction, and returns Redis' error for an EXEC that is rejected because of
// err: a redirection as it is.
func (s *Session) rejectExec(err error) error {
	s.endTransaction()
	if resp.ErrorOf(err).Code == codeMoved {
		return err
	}
	return resp.NewError("EXECABORT", "Transaction discarded because of: "+strings.TrimPrefix(err.Error(), "ERR "))
}

// rejectRequest counts a request that is not executed. A redirection does not count: the client
// asks the other node.
func (s *Session) rejectRequest(c *Spec, err error) {
	if c.Flags&spec.Decides != 0 && resp.ErrorOf(err).Code != codeMoved {
		s.stats[c.ID].countRequests(WasError, 1)
	}
}

// passes checks a command by the hooks that are set. It returns false if the command must wait, and
// the error of a command that must not run.
func (s *Session) passes(hooks int32, c *Spec, args [][]byte) (now bool, err error) {
	if hooks&guarded != 0 {
		if err = s.mayAs(c, args); c.Uses != nil && !s.judges(c, args, &err) {
			return false, nil
		}
	}
	if err == nil && hooks&clustered != 0 {
		err = s.elsewhere(c, args)
	}
	if err == nil && hooks&loading != 0 {
		err = s.mayRunLoading(c)
	}
	return err != nil || hooks&paused == 0 || !s.holdBack(c), err
}
