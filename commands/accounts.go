package commands

import (
	"crypto/sha256"
	"slices"

	"limitsrv/commands/users"
)

// accounts is all accounts as of a time. It does not change, but for the rights of
// its accounts.
type accounts struct {
	byName map[string]*account
	users  *users.Table // nil: there is no file
	// open says that the default user needs no password, and else password, unless it
	// is nil, is of which.
	open     bool
	password *[sha256.Size]byte
	// initial is who a connection is before it logs in; nil: nobody.
	initial *account
}

// newAccounts is that of a start. A password is for the default user, whom the file then
// does not have.
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

// next is the accounts of another file. Who may stay has the new rights from now on, and
// all others are gone.
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

// passwordless is the account of a name that needs no password; nil: it does.
func (r *accounts) passwordless(name string) *account {
	if r.open && name == defaultUser {
		return r.initial
	}
	return nil
}

// nameOf is name if it is that of a user, and else empty.
func (r *accounts) nameOf(name string) string {
	if r.byName[name] == nil {
		return ""
	}
	return name
}

// dummyUser is a user of the file, by m always the same one.
func (r *accounts) dummyUser(m mac) *users.User {
	n := int(m[0])<<16 | int(m[1])<<8 | int(m[2])
	return r.users.Users[n%len(r.users.Users)]
}

// names are those of all users, in order.
func (r *accounts) names() []string {
	all := make([]string, 0, len(r.byName))
	for name := range r.byName {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// describe is what a user is given, whether or not the user may log in.
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

// ReloadUsers reads the file of users again. Who is gone from it, or disabled, or has
// another hash, is disconnected; all others have their new rights at once. A file that
// is wrong changes nothing; its error is logged as well. Many may call it at once.
func (h *Handler) ReloadUsers() error {
	if h.config.Users == nil {
		return errNoUsersFile
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	t, err := h.config.LoadUsers()
	if err != nil {
		h.config.Log.Error("the users can't be loaded, and those from before remain", "error", err)
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
	h.config.Log.Info("the users are loaded", "users", len(t.Users), "connections_closed", closed)
	return nil
}

// mustDisconnect says whether the session is that of a user who is gone, or shows what its
// user may not see any more. Any goroutine may ask.
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

// switchAccount makes the session that of an account. It is refused if that is gone.
func (s *Session) switchAccount(a *account) error {
	before := s.account
	s.setAccount(a)
	if a != nil && a.revoked() { // asked afterwards, so that ReloadUsers misses no session
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

// user is the name of who uses the session. Any goroutine may ask.
func (s *Session) user() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account == nil {
		return defaultUser
	}
	return s.account.name
}

// NewSessionAs makes a session that is logged in from the start. If the account is gone
// it is like one of NewSession.
func (h *Handler) NewSessionAs(c Client, a Account) *Session {
	s := h.NewSession(c)
	if a.account != nil {
		_ = s.switchAccount(a.account)
	}
	return s
}
