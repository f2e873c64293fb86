package session

import (
	"bytes"
	"slices"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/spec"
)

// ErrNoUsersFile answers commands that need a users file.
var ErrNoUsersFile = resp.NewError("ERR",
	"the server was started without --users: the default user is the only one, and its password is an option")

// ReloadUsers reads the users file again. Users that were removed, disabled or given
// another hash are disconnected; all other users have their new rights at once. An invalid
// file changes nothing; its error is logged as well as returned. Any number of goroutines
// may call it.
func (h *Handler) ReloadUsers() error {
	if !h.logins.HasFile() {
		return ErrNoUsersFile
	}
	n, err := h.logins.Reload()
	if err != nil {
		return err
	}
	closed := 0
	hears := h.hub.names()
	for _, s := range h.Sessions() {
		if s.mustDisconnect() || s.hearsTooMuch(hears[&s.inbox]) {
			s.client.Close()
			closed++
		}
	}
	h.config.Log.Info("users loaded", "users", n, "connections_closed", closed)
	h.WarnOfWriters()
	return nil
}

// WarnOfWriters logs the users that may write the keys of events only because a wide pattern matches
// these keys: they can forge and suppress events. A user that takes events from their list has a
// pattern that begins with KeyPrefix, and users of the group admin may do everything.
func (h *Handler) WarnOfWriters() {
	if h.config.Events == nil || !h.logins.HasFile() {
		return
	}
	var names []string
	for _, user := range h.logins.List() {
		r := user.Rights
		if user.Enabled && !r.In(users.Admin) && slices.ContainsFunc(h.config.Events.Keys(), r.MayUse) &&
			!slices.ContainsFunc(r.Keys(), func(p []byte) bool { return bytes.HasPrefix(p, []byte(KeyPrefix)) }) &&
			slices.ContainsFunc(h.registry.Specs(), func(c *Spec) bool { return c.writesPlain() && r.In(c.needs) }) {
			names = append(names, user.Name)
		}
	}
	if len(names) > 0 {
		h.config.Log.Warn("users may write the keys of events, so they can forge and suppress events: give these users key "+
			"patterns that do not match "+KeyPrefix+"*", "users", names)
	}
}

// writesPlain reports whether the command writes plain values.
func (c *Spec) writesPlain() bool { return c.Flags&spec.Write != 0 && c.Flags&spec.Plain != 0 }

// mustDisconnect reports whether the session must be closed after a change of its account. It must
// if the account is revoked, or if its user may no longer have the session's MONITOR or broadcast
// of changed keys. Concurrency: any goroutine may call it.
func (s *Session) mustDisconnect() bool {
	s.mu.Lock()
	a, monitors, broadcast := s.account, s.info.monitor, s.info.tracking.Broadcast
	s.mu.Unlock()
	if a == nil {
		return false
	}
	r := a.Rights()
	return r.Revoked() || monitors && !r.All() || broadcast && !hearsAllKeys(r)
}

// hearsTooMuch reports whether the session's user may no longer have one of these subscriptions.
// names are the subscriptions by Kind.
func (s *Session) hearsTooMuch(names [2][]string) bool {
	for k, of := range names {
		for _, name := range of {
			if !s.mayHear(Kind(k), []byte(name)) {
				return true
			}
		}
	}
	return false
}

// SwitchAccount makes a the account of the session, or returns an error if it is revoked.
func (s *Session) SwitchAccount(a *auth.Account) error {
	before := s.account
	s.setAccount(a)
	if a != nil && a.Rights().Revoked() { // checked after the switch, so that ReloadUsers misses no session
		s.setAccount(before)
		return auth.ErrWrongPass
	}
	s.restrict()
	return nil
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

func (s *Session) setAccount(a *auth.Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = a
}

// User returns the name of the session's user. Any goroutine may call it.
func (s *Session) User() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return auth.DefaultUser
	}
	return s.account.Name()
}

// logReset logs a reset of n counters and boxes by the session's user.
func (s *Session) logReset(q *rules.Request, n int64) {
	for i := range q.Descriptors {
		path := []rules.Attribute{}
		for _, e := range q.Descriptors[i].Entries {
			path = append(path, rules.Attribute{Key: string(e.Key), Value: string(e.Value)})
		}
		s.h.audit.write(auditOverrides, "limits reset", "domain", string(q.Domain), "path", s.h.audit.path(path), "counters",
			n, "user", s.User(), "addr", s.Addr())
	}
}

// LogOverride logs a change of an override by the session's user.
func (s *Session) LogOverride(event string, v *rules.Override, more ...any) {
	s.h.audit.override(event, v, s.User(), s.Addr(), more)
}

// NewSessionAs makes a session that is logged in from the start. If the account is nil or
// revoked the session is like a session of NewSession.
func (h *Handler) NewSessionAs(c Client, a *auth.Account) *Session {
	s := h.NewSession(c)
	if a != nil {
		_ = s.SwitchAccount(a)
	}
	return s
}

// Account returns the user of the session; nil: no account before login.
func (s *Session) Account() *auth.Account { return s.account }

// Monitor begins MONITOR, if it is not on.
func (s *Session) Monitor() {
	if s.monitoring {
		return
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	s.monitoring = true
	hub.monitors[&s.inbox] = struct{}{}
	s.h.hooks.set(monitored, true)
	s.updateListening()
	s.closing = s.mustDisconnect() // checked after the registration, so that ReloadUsers misses no monitor
}
