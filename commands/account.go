package commands

import (
	"crypto/hmac"
	"sync"
	"sync/atomic"

	"limitsrv/commands/resp"
	"limitsrv/commands/users"
)

// defaultUser is the user of a connection that has not logged in.
const defaultUser = "default"

// An Account is a user that has logged in, or that needs no login. The zero Account is no
// user and has no permissions.
//
// Concurrency: any number of goroutines may call its methods; an answer holds until the
// users change.
type Account struct{ *account }

// Name returns the user's name.
func (a Account) Name() string {
	if a.account == nil {
		return ""
	}
	return a.name
}

// May reports whether a user is currently in a group: decide, peek or admin. A user in
// admin is in the others too. A user that was removed, or has another password now, is in
// none.
func (a Account) May(group string) bool {
	return a.account != nil && a.rights.Load().groups&users.GroupOf(group) != 0
}

// An account is a user with its current rights from the users file. Its rights are
// revoked for good if the user is disabled, removed from the file or given another hash.
type account struct {
	name   string
	user   *users.User // nil: the default user, which has no hash
	rights atomic.Pointer[rights]

	mu       sync.Mutex
	verified []mac // of name and verified password; at most one for each hash
}

// rights are the permissions of a user. Immutable.
type rights struct {
	revoked bool
	all     bool // every command on every key
	groups  users.Groups
	anyKey  bool // one of keys is *
	keys    [][]byte
}

const everyGroup = users.Decide | users.Peek | users.Admin

var (
	allRights = &rights{all: true, groups: everyGroup, anyKey: true, keys: [][]byte{[]byte("*")}}
	noRights  = &rights{revoked: true}
)

func newAccount(name string, u *users.User, r *rights) *account {
	a := &account{name: name, user: u}
	a.rights.Store(r)
	return a
}

// rightsOf returns the rights that the file gives a user.
func rightsOf(u *users.User) *rights {
	r := &rights{groups: u.Groups}
	if u.Groups&users.Admin != 0 {
		r.groups = everyGroup
	}
	for _, pattern := range u.Keys {
		r.keys = append(r.keys, []byte(pattern))
		r.anyKey = r.anyKey || pattern == "*"
	}
	r.all = r.groups == everyGroup && r.anyKey
	return r
}

func (a *account) revoked() bool { return a.rights.Load().revoked }

// rememberPassword caches the digest of a verified password.
func (a *account) rememberPassword(password mac) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.user != nil && len(a.verified) < a.user.Hashes() && !a.isRememberedLocked(password) {
		a.verified = append(a.verified, password)
	}
}

// isRemembered reports whether a password was verified before.
func (a *account) isRemembered(password mac) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isRememberedLocked(password)
}

// isRememberedLocked is isRemembered. Requires: a.mu is held.
func (a *account) isRememberedLocked(password mac) (known bool) {
	for _, v := range a.verified {
		known = hmac.Equal(v[:], password[:]) || known
	}
	return known
}

var errNoKey = resp.NewError("NOPERM", "this user has no permissions to access one of the keys used as arguments")

// A denial is the reason for denying a command to a user.
type denial int

const (
	granted denial = iota
	deniedCommand
	deniedKey
)

// deny returns the reason for denying a command, and the key if the reason is a key. No
// allocation.
func (r *rights) deny(c *spec, line [][]byte) (denial, []byte) {
	if r.all || c.Flags&NoAuth != 0 {
		return granted, nil
	}
	if r.revoked || c.needs != 0 && c.needs&r.groups == 0 {
		return deniedCommand, nil
	}
	if r.anyKey {
		return granted, nil
	}
	if c.Flags&AllKeys != 0 {
		return deniedKey, []byte("*")
	}
	if c.Keys.Step == 0 {
		return granted, nil
	}
	for i, last := c.Keys.First, c.lastKey(line); i <= last; i += c.Keys.Step {
		if !r.mayUse(line[i]) {
			return deniedKey, line[i]
		}
	}
	return granted, nil
}

func (r *rights) mayUse(key []byte) bool {
	for _, pattern := range r.keys {
		if globMatch(pattern, key, sameCase) {
			return true
		}
	}
	return false
}

// everyone is the category of the commands that any user may send.
const everyone = "everyone"

// needsOf returns the groups of which a user must have one to send a command; 0: none is
// required. That holds for commands that neither read nor write keys nor administer, such
// as INFO, ROLE and CLUSTER SLOTS: client libraries send them on their own, and some do
// not continue after an error.
func needsOf(c *Command) users.Groups {
	switch {
	case c.Flags&(Admin|Forgets|Reaches) != 0:
		return users.Admin
	case c.Flags&(ReadOnly|AllKeys) != 0:
		return users.Peek
	case c.Flags&Write != 0:
		return users.Decide
	}
	return 0
}

// group returns the category of a command by the group that it requires.
func (c *spec) group() string {
	for i, name := range users.GroupNames {
		if c.needs == 1<<i {
			return name
		}
	}
	return everyone
}
