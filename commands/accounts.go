package commands

import (
	"crypto/sha256"
	"slices"

	"limitsrv/commands/users"
)

// accounts are all accounts of one version of the users file. Immutable, except for the
// rights of the accounts.
type accounts struct {
	byName map[string]*account
	users  *users.Table // nil: no users file
	// open: the default user needs no password. Otherwise password is the SHA-256 of its
	// password, or nil if it has none.
	open     bool
	password *[sha256.Size]byte
	// initial is the account of a connection before login; nil: none.
	initial *account
}

// newAccounts returns the accounts at the start. password is the default user's; if it is
// not empty, the file must not contain that user.
func newAccounts(password string, t *users.Table) *accounts {
	r := &accounts{byName: map[string]*account{}, users: t}
	switch {
	case password != "":
		sum := sha256.Sum256([]byte(password))
		r.password = &sum
		r.byName[defaultUser] = newAccount(defaultUser, nil, allRights)
	case t == nil:
		r.open = true
		r.initial = newAccount(defaultUser, nil, allRights)
		r.byName[defaultUser] = r.initial
	}
	if t != nil {
		for _, u := range t.Users {
			r.byName[u.Name] = accountOf(u)
		}
	}
	return r
}

func accountOf(u *users.User) *account {
	if !u.Enabled {
		return newAccount(u.Name, u, noRights)
	}
	return newAccount(u.Name, u, rightsOf(u))
}

// next returns the accounts for a new users file. Accounts that may stay have their new
// rights from now on; all others are revoked.
func (r *accounts) next(t *users.Table) *accounts {
	n := *r
	n.users, n.byName = t, map[string]*account{}
	for name, a := range r.byName {
		if a.user == nil {
			n.byName[name] = a
			continue
		}
		u := t.Find(name)
		if u == nil || !u.Enabled || a.revoked() || !a.user.SameSecret(u) {
			a.rights.Store(noRights)
			continue
		}
		a.rights.Store(rightsOf(u))
		n.byName[name] = a
	}
	for _, u := range t.Users {
		if n.byName[u.Name] == nil {
			n.byName[u.Name] = accountOf(u)
		}
	}
	return &n
}

// passwordless returns the account of a name that needs no password; nil: it needs one.
func (r *accounts) passwordless(name string) *account {
	if r.open && name == defaultUser {
		return r.initial
	}
	return nil
}

// nameOf returns name if there is such a user, otherwise the empty string.
func (r *accounts) nameOf(name string) string {
	if r.byName[name] == nil {
		return ""
	}
	return name
}

// dummyUser returns a user of the file, always the same one for m.
func (r *accounts) dummyUser(m mac) *users.User {
	n := int(m[0])<<16 | int(m[1])<<8 | int(m[2])
	return r.users.Users[n%len(r.users.Users)]
}

// names returns the names of all users, sorted.
func (r *accounts) names() []string {
	all := make([]string, 0, len(r.byName))
	for name := range r.byName {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// describe returns the rights given to a user, whether or not the user is enabled.
func (r *accounts) describe(name string) (given *rights, enabled, ok bool) {
	a := r.byName[name]
	switch {
	case a == nil:
		return nil, false, false
	case a.user == nil:
		return allRights, true, true
	}
	u := r.users.Find(name)
	return rightsOf(u), u.Enabled, true
}

// ReloadUsers reads the users file again. Users that were removed, disabled or given
// another hash are disconnected; all others have their new rights at once. An invalid
// file changes nothing; its error is logged as well as returned. Any number of goroutines
// may call it.
func (h *Handler) ReloadUsers() error {
	if h.config.Users == nil {
		return errNoUsersFile
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	t, err := h.config.LoadUsers()
	if err != nil {
		h.config.Log.Error("users file not loaded; the previous users stay in effect", "error", err)
		return err
	}
	h.accounts.Store(h.accounts.Load().next(t))
	h.logins.forget()
	closed := 0
	for _, s := range h.all() {
		if s.mustDisconnect() {
			s.client.Close()
			closed++
		}
	}
	h.config.Log.Info("users loaded", "users", len(t.Users), "connections_closed", closed)
	return nil
}

// mustDisconnect reports whether the session's account is revoked, or the session has a
// MONITOR that its user may not have any more. Any goroutine may call it.
func (s *Session) mustDisconnect() bool {
	s.mu.Lock()
	a, monitors := s.account, s.shown.monitor
	s.mu.Unlock()
	if a == nil {
		return false
	}
	r := a.rights.Load()
	return r.revoked || monitors && !r.all
}

// switchAccount makes a the account of the session, or returns an error if it is revoked.
func (s *Session) switchAccount(a *account) error {
	before := s.account
	s.setAccount(a)
	if a != nil && a.revoked() { // checked after the switch, so that ReloadUsers misses no session
		s.setAccount(before)
		return errWrongPass
	}
	s.restrict()
	return nil
}

func (s *Session) setAccount(a *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = a
}

// user returns the name of the session's user. Any goroutine may call it.
func (s *Session) user() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return defaultUser
	}
	return s.account.name
}

// NewSessionAs makes a session that is logged in from the start. If the account is
// revoked the session is like one of NewSession.
func (h *Handler) NewSessionAs(c Client, a Account) *Session {
	s := h.NewSession(c)
	if a.account != nil {
		_ = s.switchAccount(a.account)
	}
	return s
}
