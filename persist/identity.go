package persist

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Names in a data directory that are read before anything else.
const (
	lockName     = "LOCK"
	identityName = "IDENTITY"
	identityWhat = "data directory"
	// MemberName is the file that marks the directory of a node of a cluster.
	MemberName = "MEMBER"
	// MemberDir holds the state of such a node. It is created after MemberName.
	MemberDir = "raft"
	// identityFormat must be raised with any change in the data directory that an older
	// limitsrv cannot handle.
	identityFormat = 1
)

// A Seed is the secret that all hash keys are derived from. It must stay secret, because it lets a
// client choose keys that collide.
type Seed [16]byte

// MarshalText returns the seed in hexadecimal.
func (s Seed) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText parses the output of MarshalText.
func (s *Seed) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("a seed has %d hexadecimal digits, not %d", hex.EncodedLen(len(s)), len(text))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// An Identity is given to a data directory at its creation and never changes.
type Identity struct {
	ID      string    `json:"id"`      // of the node, random, 32 hexadecimal digits
	Seed    Seed      `json:"seed"`    // of the node's hashes
	Created time.Time `json:"created"` // by the node's clock
}

// A Dir is a data directory locked by this process.
type Dir struct {
	Identity
	Path string
	FS   vfs.FS
	lock io.Closer
}

// OpenDir locks a data directory for this process until Close. A missing or empty directory
// is created, with a new identity. It returns a *InUseError if another process holds the
// lock, a *NewerError if a newer limitsrv wrote the directory, a *CorruptError if the
// identity is damaged, and an error if there are files but no identity.
//
// The lock is lost if this process opens and closes the lock file again.
func OpenDir(fsys vfs.FS, dir string) (*Dir, error) {
	d := &Dir{Path: dir, FS: fsys}
	if err := MakeDir(fsys, dir); err != nil {
		return nil, fmt.Errorf("create data directory %s: %w", dir, err)
	}
	// Checked before locking as well, because locking creates a file.
	if err := d.checkOwned(); err != nil {
		return nil, err
	}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	if err := d.loadIdentity(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// IsStateOfOne reports whether a file of that name in a data directory is state of a node
// outside a cluster: a log, or snapshots.
func IsStateOfOne(name string) bool {
	return name == snapshotsDir || strings.HasPrefix(name, logPrefix)
}

// IsMember reports whether a data directory is, or was, of a node of a cluster.
func IsMember(fsys vfs.FS, dir string) (bool, error) {
	for _, name := range []string{MemberName, MemberDir} {
		if _, err := fsys.Stat(fsys.PathJoin(dir, name)); !isMissing(err) {
			return err == nil, err
		}
	}
	return false, nil
}

// refuseMember returns an error for the directory of a node of a cluster, which has its
// state in another log.
func (d *Dir) refuseMember() error {
	is, err := IsMember(d.FS, d.Path)
	if is && err == nil {
		err = fmt.Errorf("data directory %s belongs to a node of a cluster: start with --raft, or use another directory "+
			"(limitsrv recover %s --to NEW --single creates one)", d.Path, d.Path)
	}
	return err
}

// Protect makes the files of the directory private to their owner, for a server that opens it. It
// only logs errors, because the server can work without it.
func (d *Dir) Protect(log *slog.Logger) {
	if err := makeAllPrivate(d.FS, d.Path); err != nil {
		log.Warn("other users of this machine may be able to read files of the data directory", "dir", d.Path, "error", err)
	}
}

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }

func (d *Dir) join(name string) string { return d.FS.PathJoin(d.Path, name) }

// checkOwned returns an error for a directory that limitsrv did not create.
func (d *Dir) checkOwned() error {
	names, err := d.FS.List(d.Path)
	if err != nil {
		return fmt.Errorf("list data directory %s: %w", d.Path, err)
	}
	// lost+found is in the root directory of a file system.
	early := []string{lockName, identityName + suffixTemporary, "lost+found"}
	if slices.Contains(names, identityName) {
		return nil
	}
	own := []string{MemberName, MemberDir, bootName, stoppedName}
	for _, name := range names {
		if IsStateOfOne(name) || slices.Contains(own, name) {
			return &CorruptError{What: identityWhat, File: d.join(identityName), Reason: "it is missing, but found " + name}
		}
	}
	for _, name := range names {
		if !slices.Contains(early, name) {
			return fmt.Errorf("data directory %s has no %s but contains %s: it was not created by limitsrv, use an empty one",
				d.Path, identityName, name)
		}
	}
	return nil
}

func (d *Dir) takeLock() error {
	lock, err := d.FS.Lock(d.join(lockName))
	if errors.As(err, new(*fs.PathError)) {
		return fmt.Errorf("lock data directory %s: %w", d.Path, err)
	}
	if err != nil {
		return newInUse(d.Path, d.join(lockName), err)
	}
	d.lock = lock
	return nil
}

// loadIdentity reads the identity, or creates an identity for a directory without.
func (d *Dir) loadIdentity() error {
	err := ReadSealed(d.FS, d.join(identityName), identityWhat, identityFormat, &d.Identity)
	if !isMissing(err) {
		return err
	}
	if err := d.checkOwned(); err != nil {
		return err
	}
	d.Identity = newIdentity(newSeed())
	return writeIdentity(d.FS, d.Path, d.Identity)
}

func newSeed() (s Seed) {
	rand.Read(s[:])
	return s
}

// newIdentity returns a random identity with the given seed, created now.
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
