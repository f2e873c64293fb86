package persist

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The names in a data directory that are known before anything else is read.
const (
	lockName     = "LOCK"
	identityName = "IDENTITY"
	identityWhat = "data directory"
	// MemberName is the file by which the directory is that of a node of a cluster.
	MemberName = "MEMBER"
	// MemberDir is where such a node has its state. It is made after that file.
	MemberDir = "raft"
	// identityFormat goes up when an older limitsrv could not make use of a data
	// directory any more, whatever it is that changes in there.
	identityFormat = 1
)

// A Seed keys the hash of keys. Whoever knows it can choose keys that collide.
type Seed [16]byte

// MarshalText writes the seed in hexadecimal.
func (s Seed) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Seed) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("a seed has %d hexadecimal digits, not %d", hex.EncodedLen(len(s)), len(text))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// An Identity is what a data directory is given when it is made, and keeps.
type Identity struct {
	ID      string    `json:"id"`      // of the node, random, 32 hexadecimal digits
	Seed    Seed      `json:"seed"`    // of the node's hashes
	Created time.Time `json:"created"` // by the clock of that day
}

// A Dir is a data directory that this process has for itself.
type Dir struct {
	Identity
	Path string
	FS   vfs.FS
	lock io.Closer
}

// OpenDir takes a data directory for this process until Close. One that is not
// there or empty is made, with an identity of its own. It refuses one that another
// process has (*InUseError), that a newer limitsrv wrote (*NewerError), whose identity is
// damaged (*CorruptError), and one with files in it but no identity.
//
// Nobody may open and close the lock file in it meanwhile, or the lock is gone.
func OpenDir(fsys vfs.FS, dir string) (*Dir, error) {
	d := &Dir{Path: dir, FS: fsys}
	if err := MakeDir(fsys, dir); err != nil {
		return nil, fmt.Errorf("make data directory %s: %w", dir, err)
	}
	// Looked at before the lock as well, as the lock leaves a file behind.
	if err := d.checkOurs(); err != nil {
		return nil, err
	}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	if err := d.identify(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// IsStateOfOne says whether a file of that name, in a data directory, is state of
// a node by itself: a log, or snapshots.
func IsStateOfOne(name string) bool {
	return name == snapshotsDir || strings.HasPrefix(name, logPrefix)
}

// IsMember says whether a data directory is that of a node of a cluster, or what is left
// of one.
func IsMember(fsys vfs.FS, dir string) (bool, error) {
	for _, name := range []string{MemberName, MemberDir} {
		if _, err := fsys.Stat(fsys.PathJoin(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// refuseMember refuses the directory of a node of a cluster, whose state is in
// another log.
func (d *Dir) refuseMember() error {
	is, err := IsMember(d.FS, d.Path)
	if is && err == nil {
		err = fmt.Errorf("data directory %s is of a node of a cluster: start it with --raft, or give another directory (limitsrv recover %s --to NEW --single makes one)", d.Path, d.Path)
	}
	return err
}

// Close leaves the directory to others.
func (d *Dir) Close() error { return d.lock.Close() }

func (d *Dir) join(name string) string { return d.FS.PathJoin(d.Path, name) }

// checkOurs refuses a directory of somebody else.
func (d *Dir) checkOurs() error {
	names, err := d.FS.List(d.Path)
	if err != nil {
		return fmt.Errorf("list data directory %s: %w", d.Path, err)
	}
	// lost+found is in any directory that is a file system of its own.
	early := []string{lockName, identityName + suffixTemporary, "lost+found"}
	if slices.Contains(names, identityName) {
		return nil
	}
	for _, name := range names {
		if IsStateOfOne(name) || name == MemberName || name == MemberDir {
			return &CorruptError{What: identityWhat, File: d.join(identityName), Reason: "it is missing, but there is " + name}
		}
		if !slices.Contains(early, name) {
			return fmt.Errorf("data directory %s has no %s but has %s: it is not of limitsrv, give an empty one",
				d.Path, identityName, name)
		}
	}
	return nil
}

func (d *Dir) takeLock() error {
	lock, err := d.FS.Lock(d.join(lockName))
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return fmt.Errorf("lock data directory %s: %w", d.Path, err)
	}
	if err != nil {
		return newInUse(d.Path, d.join(lockName), err)
	}
	d.lock = lock
	return nil
}

// identify reads the identity, or makes one for a directory without.
func (d *Dir) identify() error {
	err := ReadSealed(d.FS, d.join(identityName), identityWhat, identityFormat, &d.Identity)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.checkOurs(); err != nil {
		return err
	}
	d.Identity = newIdentity(newSeed())
	return writeIdentity(d.FS, d.Path, d.Identity)
}

func newSeed() (s Seed) {
	rand.Read(s[:])
	return s
}

// newIdentity is that of a directory made now, whose hashes have a seed.
func newIdentity(seed Seed) Identity {
	var id [16]byte
	rand.Read(id[:])
	return Identity{ID: hex.EncodeToString(id[:]), Seed: seed, Created: time.Now().UTC().Truncate(time.Second)}
}

func writeIdentity(fsys vfs.FS, dir string, id Identity) error {
	if err := WriteSealed(fsys, dir, identityName, identityWhat, identityFormat, id); err != nil {
		return fmt.Errorf("write the identity of data directory %s: %w", dir, err)
	}
	return nil
}
