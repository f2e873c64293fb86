package session

import (
	"cmp"
	"slices"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
)

// A queuedLogin is the result of a login of a transaction.
type queuedLogin struct {
	at      int           // index of the command in the queue
	account *auth.Account // nil if err is set
	err     error
}

// Login logs the session in; answer then writes the reply of the run command, perhaps later. On an
// error the error is the reply and nothing changes. In a transaction EXEC has checked the password
// before.
func (s *Session) Login(name, password []byte, answer func(*resp.Writer)) {
	var a *auth.Account
	finish := func(w *resp.Writer) {
		if err := s.SwitchAccount(a); err != nil {
			w.Error(err)
			return
		}
		answer(w)
	}
	if s.tx.running {
		l := s.tx.loginAt(s.tx.item)
		if a = l.account; l.err != nil {
			s.w.Error(l.err)
			return
		}
		finish(&s.w)
		return
	}
	s.Defer(func(done func(error)) (func(), error) {
		return s.h.logins.Begin(s.client.Addr, string(name), password, func(found *auth.Account, err error) {
			a = found
			done(err)
		}), nil
	}, finish)
}

// loginAt returns the result of the login of a queued command. It is an error if EXEC took the
// command for one that does not log in.
func (tx *transaction) loginAt(at int) queuedLogin {
	i, found := slices.BinarySearchFunc(tx.logins, at, func(l queuedLogin, at int) int { return cmp.Compare(l.at, at) })
	if found {
		return tx.logins[i]
	}
	return queuedLogin{err: errNoMulti}
}

// logsIn reports whether c may begin as far as logins go: EXEC begins after the passwords of the
// queued commands have been checked, one after the other. If it returns false, the session is in the
// state away.
func (s *Session) logsIn(c *Spec) bool {
	tx := &s.tx
	if c.Flags&Executes == 0 || !tx.logsIn || tx.dirty {
		return true
	}
	words := tx.words()
	for tx.checked.commands < len(tx.queue) {
		at, from := tx.checked.commands, tx.checked.words
		q := &tx.queue[at]
		tx.checked.commands++
		tx.checked.words += q.args
		if !s.checkQueued(at, q.spec, words[from:tx.checked.words]) {
			return false
		}
	}
	return true
}

// checkQueued checks the password of a queued command that logs in, and reports whether the check is
// complete.
func (s *Session) checkQueued(at int, c *Spec, args [][]byte) bool {
	if c.Login == nil {
		return true
	}
	name, password, ok := c.Login(s, args)
	if !ok {
		return true
	}
	s.state.Store(executing)
	s.tx.cancelLogin = s.h.logins.Begin(s.client.Addr, string(name), password, func(a *auth.Account, err error) {
		s.tx.logins = append(s.tx.logins, queuedLogin{at, a, err})
		s.done(nil)
	})
	if s.state.CompareAndSwap(executing, away) {
		s.began = 0
		return false
	}
	s.state.CompareAndSwap(arrived, idle)
	return true
}
