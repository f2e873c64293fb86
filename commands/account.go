package commands

import (
	"crypto/hmac"
	"sync"
	"sync/atomic"

	"limitsrv/commands/users"
)

// defaultUser is who a connection is that has not said who it is.
const defaultUser = "default"

// An Account is a user who has logged in, or who does not need to. Its methods may
// be called by many at once; what they tell holds until the users change. The zero
// Account is nobody, and may nothing.
type Account struct{ *account }

// Name is the user's.
func (a Account) Name() string {
	if a.account == nil {
		return ""
	}
	return a.name
}

// May says whether the user is in a group now: decide, peek or admin. Who is in
// admin is in the others too. A user who is gone, or whose password is another by
// now, is in none.
func (a Account) May(group string) bool {
	return a.account != nil && a.rights.Load().groups&users.GroupOf(group) != 0
}

// An account is a user with the rights that the file gives as of now. One that is
// disabled, or gone from the file, or there with another hash, is gone for good.
type account struct {
	name   string
	user   *users.User // nil: one without a hash, the default user
	rights atomic.Pointer[rights]

	mu       sync.Mutex
	verified []mac // of passwords that were right, by name and password; at most one for each hash
}

// rights are what a user may do. They do not change.
type rights struct {
	revoked bool
	all     bool // may everything with every key
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

// rightsOf are those that the file gives a user.
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

// rememberPassword notes that a password was right.
func (a *account) rememberPassword(password mac) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.user != nil && len(a.verified) < a.user.Hashes() && !a.isRememberedLocked(password) {
		a.verified = append(a.verified, password)
	}
}

// isRemembered says whether a password was right before.
func (a *account) isRemembered(password mac) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isRememberedLocked(password)
}

// knows is remembers for who holds mu.
func (a *account) isRememberedLocked(password mac) (known bool) {
	for _, v := range a.verified {
		known = hmac.Equal(v[:], password[:]) || known
	}
	return known
}

var errNoKey = &Error{"NOPERM", "this user has no permissions to access one of the keys used as arguments"}

// A denial is why a command is refused to a user.
type denial int

const (
	granted denial = iota
	deniedCommand
	deniedKey
)

// deny says why a command is refused, and for a key which. No allocation.
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

// needsOf are the groups one of which a user must be in to send a command; 0: none.
// What neither reads nor writes keys nor administers is what clients send by
// themselves, such as INFO, ROLE and CLUSTER SLOTS, and some of them do not go on if
// it is refused.
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

// group is the category of a command by who may send it.
func (c *spec) group() string {
	for i, name := range users.GroupNames {
		if c.needs == 1<<i {
			return name
		}
	}
	return everyone
}
