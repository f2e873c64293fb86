package auth

import (
	"crypto/hmac"
	"sync"
	"sync/atomic"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/glob"
)

// DefaultUser is the user of a connection that has not logged in.
const DefaultUser = "default"

// An Account is a user that has logged in, or that needs no login, with its current rights
// from the users file. Its rights are revoked for good if the user is disabled, removed
// from the file or given another hash. A nil Account is no user and has no permissions.
//
// Concurrency: any number of goroutines may call its methods; an answer holds until the
// users change.
type Account struct {
	name   string
	user   *users.User // nil: the default user, which has no hash
	rights atomic.Pointer[Rights]

	mu       sync.Mutex
	verified []mac // of name and verified password; at most one mac for each hash
}

// Rights are the permissions of a user. Immutable.
type Rights struct {
	revoked bool
	all     bool // every command on every key and channel
	groups  users.Groups
	anyKey  bool // one of keys is *
	keys    [][]byte
	matches []*glob.Pattern // compiled keys
	// anyChannel is set if channels has *.
	anyChannel bool
	channels   [][]byte
	// channelMatches are the compiled channels.
	channelMatches []*glob.Pattern
}

var (
	everything = [][]byte{[]byte("*")}
	anything   = patternsOf(everything)
	allRights  = &Rights{
		all: true, groups: users.Every, anyKey: true, keys: everything, matches: anything,
		anyChannel: true, channels: everything, channelMatches: anything,
	}
	noRights = &Rights{revoked: true}
)

func newAccount(name string, u *users.User, r *Rights) *Account {
	a := &Account{name: name, user: u}
	a.rights.Store(r)
	return a
}

// rightsOf returns the rights that the file gives a user.
func rightsOf(u *users.User) *Rights {
	r := &Rights{groups: u.Groups}
	if u.Groups&users.Admin != 0 {
		r.groups = users.Every
	}
	for _, pattern := range u.Keys {
		r.keys = append(r.keys, []byte(pattern))
		r.anyKey = r.anyKey || pattern == "*"
	}
	for _, pattern := range u.Channels {
		r.channels = append(r.channels, []byte(pattern))
		r.anyChannel = r.anyChannel || pattern == "*"
	}
	if u.Channels == nil && r.groups == users.Every {
		r.channels, r.anyChannel = everything, true
	}
	r.matches, r.channelMatches = patternsOf(r.keys), patternsOf(r.channels)
	r.all = r.groups == users.Every && r.anyKey && r.anyChannel
	return r
}

// patternsOf compiles the patterns.
func patternsOf(texts [][]byte) (all []*glob.Pattern) {
	for _, text := range texts {
		all = append(all, glob.Compile(text, glob.SameCase))
	}
	return all
}

// Name returns the user's name; empty for nil.
func (a *Account) Name() string {
	if a == nil {
		return ""
	}
	return a.name
}

// Rights returns the current rights. Requires: a is not nil. Cost: an atomic load.
func (a *Account) Rights() *Rights { return a.rights.Load() }

// May reports whether a user is currently in a group. A user in admin is in all other groups too. A user that
// was removed, or has another password now, is in no group.
func (a *Account) May(group string) bool {
	return a != nil && a.rights.Load().In(users.GroupOf(group))
}

func (a *Account) revoked() bool { return a.rights.Load().revoked }

// rememberPassword caches the digest of a verified password.
func (a *Account) rememberPassword(password mac) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.user != nil && len(a.verified) < a.user.Hashes() && !a.isRememberedLocked(password) {
		a.verified = append(a.verified, password)
	}
}

// isRemembered reports whether a password was verified before.
func (a *Account) isRemembered(password mac) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isRememberedLocked(password)
}

// isRememberedLocked is isRemembered. Requires: a.mu is held.
func (a *Account) isRememberedLocked(password mac) (known bool) {
	for _, v := range a.verified {
		known = hmac.Equal(v[:], password[:]) || known
	}
	return known
}

// Revoked reports whether the user may send nothing any more.
func (r *Rights) Revoked() bool { return r.revoked }

// All reports whether every command is permitted on every key and channel.
func (r *Rights) All() bool { return r.all }

// In reports whether the user is in one of some groups.
func (r *Rights) In(some users.Groups) bool { return r.groups&some != 0 }

// Groups returns all groups of the user; for a user in admin these are all groups.
func (r *Rights) Groups() users.Groups { return r.groups }

// Keys returns the key patterns of the user. The caller must not change them.
func (r *Rights) Keys() [][]byte { return r.keys }

// AnyKey reports whether one of the key patterns is *.
func (r *Rights) AnyKey() bool { return r.anyKey }

// MayUse reports whether a key matches one of the user's patterns. No allocation.
func (r *Rights) MayUse(key []byte) bool {
	for _, pattern := range r.matches {
		if pattern.Match(key) {
			return true
		}
	}
	return false
}

// Channels returns the channel patterns of the user. The caller must not change them.
func (r *Rights) Channels() [][]byte { return r.channels }

// AnyChannel reports whether one of the channel patterns is *.
func (r *Rights) AnyChannel() bool { return r.anyChannel }

// MayUseChannel reports whether the user may use a channel: it must match one of the user's
// patterns. For a channel pattern (isPattern), it must be equal to one of them, as in Redis. It
// does not allocate.
func (r *Rights) MayUseChannel(name []byte, isPattern bool) bool {
	if r.anyChannel {
		return true
	}
	for i, pattern := range r.channels {
		if string(pattern) == string(name) || !isPattern && r.channelMatches[i].Match(name) {
			return true
		}
	}
	return false
}
