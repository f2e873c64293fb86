package auth

import (
	"crypto/sha256"

	"limitsrv/commands/auth/users"
)

// accounts are all accounts of a single version of the users file. Immutable, except for
// the rights of the accounts.
type accounts struct {
	byName map[string]*Account
	users  *users.Table // nil: no users file
	// open: the default user needs no password. Otherwise password is the SHA-256 of its
	// password, or nil if it has no password.
	open     bool
	password *[sha256.Size]byte
	// initial is the account of a connection before login; nil: no account.
	initial *Account
}

// newAccounts returns the accounts at the start. password is the default user's; if it is
// not empty, the file must not contain that user.
func newAccounts(password string, t *users.Table) *accounts {
	r := &accounts{byName: map[string]*Account{}, users: t}
	switch {
	case password != "":
		sum := sha256.Sum256([]byte(password))
		r.password = &sum
		r.byName[DefaultUser] = newAccount(DefaultUser, nil, allRights)
	case t == nil:
		r.open = true
		r.initial = newAccount(DefaultUser, nil, allRights)
		r.byName[DefaultUser] = r.initial
	}
	if t != nil {
		for _, u := range t.Users {
			r.byName[u.Name] = accountOf(u)
		}
	}
	return r
}

func accountOf(u *users.User) *Account {
	if !u.Enabled {
		return newAccount(u.Name, u, noRights)
	}
	return newAccount(u.Name, u, rightsOf(u))
}

// next returns the accounts for a new users file. Accounts that may stay have their new
// rights from now on; all other accounts are revoked.
func (r *accounts) next(t *users.Table) *accounts {
	n := *r
	n.users, n.byName = t, map[string]*Account{}
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

// passwordless returns the account of a name that needs no password; nil: it needs a
// password.
func (r *accounts) passwordless(name string) *Account {
	if r.open && name == DefaultUser {
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

// dummyUser returns a user of the file, always the same user for m.
func (r *accounts) dummyUser(m mac) *users.User {
	n := int(m[0])<<16 | int(m[1])<<8 | int(m[2])
	return r.users.Users[n%len(r.users.Users)]
}

// A Listing describes a user for ACL.
type Listing struct {
	Name         string
	Rights       *Rights // given to the user, whether or not the user is enabled
	Enabled      bool
	Passwordless bool
}

// describe returns the listing of a user.
func (r *accounts) describe(name string) (listing Listing, ok bool) {
	a := r.byName[name]
	switch {
	case a == nil:
		return Listing{}, false
	case a.user == nil:
		return Listing{name, allRights, true, r.passwordless(name) != nil}, true
	}
	u := r.users.Find(name)
	return Listing{name, rightsOf(u), u.Enabled, false}, true
}
