package users

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"limitsrv/internal/files"
)

// Groups are the groups of a user, as bits.
type Groups uint16

const (
	Decide Groups = 1 << iota // may take and return tokens
	Peek                      // may read limits
	Admin                     // may do everything
)

// Every is all groups.
const Every Groups = 1<<len(GroupNames) - 1

// GroupNames are the names of groups, by bit: the groups for limits, and the categories of
// Redis with commands on values.
var GroupNames = [...]string{
	"decide", "peek", "admin", "rules",
	"read", "write", "keyspace", "string", "bitmap", "hash", "list", "set", "sortedset", "scripting", "pubsub",
}

// GroupOf returns the group of a name; 0: no such group.
func GroupOf(name string) Groups {
	if i := slices.Index(GroupNames[:], name); i >= 0 {
		return 1 << i
	}
	return 0
}

// A User is a user of the file. Immutable.
type User struct {
	Name   string
	Groups Groups
	Keys   []string // patterns, never empty
	// Channels are patterns; nil if the users file sets no channels.
	Channels []string
	Enabled  bool
	hashes   []hash // never empty
	line     int
}

// Check reports whether a password is the user's, whether or not the user is enabled.
// Cost: a wrong password is checked against all hashes of the user, a right one up to its
// hash.
func (u *User) Check(password []byte) bool {
	return slices.ContainsFunc(u.hashes, func(h hash) bool { return h.matches(password) })
}

// SameSecret reports whether both users have the same hashes.
func (u *User) SameSecret(other *User) bool {
	return slices.EqualFunc(u.hashes, other.hashes, sameHash)
}

func sameHash(a, b hash) bool { return a.text == b.text }

// Hashes returns the number of passwords that the user may have.
func (u *User) Hashes() int { return len(u.hashes) }

// A Table holds the users of a file, at least one user. Immutable.
type Table struct {
	Users  []*User // in the order of the file
	named  map[string]*User
	digest [sha256.Size]byte
}

// Find returns the user of a name; nil: no such user.
func (t *Table) Find(name string) *User { return t.named[name] }

// maxFileBytes bounds the size of a file.
const maxFileBytes = 1 << 20

// Load reads a file. reserved are names that must not be in it.
func Load(path string, reserved ...string) (*Table, error) {
	data, _, err := files.Read(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return Parse(path, data, reserved...)
}
