package users

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"limitsrv/files"
)

// Groups are what a user is in, as bits.
type Groups uint8

const (
	Decide Groups = 1 << iota // may take and give permits
	Peek                      // may look at keys
	Admin                     // may do everything
)

// GroupNames are the names of groups, by bit.
var GroupNames = [...]string{"decide", "peek", "admin"}

// GroupOf is the group of a name; 0: there is none of that name.
func GroupOf(name string) Groups {
	if i := slices.Index(GroupNames[:], name); i >= 0 {
		return 1 << i
	}
	return 0
}

// A User is one of the file. It does not change.
type User struct {
	Name    string
	Groups  Groups
	Keys    []string // patterns, one at least
	Enabled bool
	hashes  []hash // one at least
	line    int
}

// Check says whether a password is the user's, whether or not the user is enabled.
// It takes as long as all hashes of the user together, be it right or wrong, unless
// it is right.
func (u *User) Check(password []byte) bool {
	return slices.ContainsFunc(u.hashes, func(h hash) bool { return h.matches(password) })
}

// SameSecret says whether the passwords of both are by the same hashes.
func (u *User) SameSecret(other *User) bool {
	return slices.EqualFunc(u.hashes, other.hashes, sameHash)
}

func sameHash(a, b hash) bool { return a.text == b.text }

// Hashes is how many passwords the user may have.
func (u *User) Hashes() int { return len(u.hashes) }

// A Table is the users of a file, one at least. It does not change.
type Table struct {
	Users  []*User // in the order of the file
	named  map[string]*User
	digest [sha256.Size]byte
}

// Find is the user of a name; nil: there is none.
func (t *Table) Find(name string) *User { return t.named[name] }

// maxFileBytes bounds a file.
const maxFileBytes = 1 << 20

// Load reads a file. reserved are names that may not stand in it.
func Load(path string, reserved ...string) (*Table, error) {
	data, _, err := files.Read(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return Parse(path, data, reserved...)
}
