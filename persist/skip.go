package persist

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
)

// emptyEntry is the data of an entry without batches.
var emptyEntry = []byte{entryLimits}

// A Skip skips an entry of the log in a directory that no server uses.
type Skip struct {
	FS    vfs.FS
	Dir   string // the data directory; the file with the entry is written to it
	Log   string // the directory of the log
	State string // the directory with DEATHS
	After uint64 // index of the last entry in the newest snapshot
	Index uint64
}

// A Found is an entry that may be skipped.
type Found struct {
	Entry raft.Log
	What  string // description by the server that ended; may be empty
	Count int    // processes that ended while they applied it; 0: unknown
}

// ErrNothingToSkip reports that the entry is skipped already, or that the log ends before it.
var ErrNothingToSkip = errors.New("nothing to skip")

// Find returns the entry to skip.
func (s *Skip) Find() (f Found, err error) {
	skipped, err := readSkipped(s.FS, s.Log)
	if err != nil {
		return f, err
	}
	if s.Index <= s.After {
		return f, fmt.Errorf("entry %d can't be skipped: the snapshot up to entry %d in %s has its effects", s.Index, s.After,
			s.Dir)
	}
	first, last := uint64(0), s.After
	err = ReadLog(s.FS, s.Log, func(e *raft.Log) error {
		if first == 0 {
			first = e.Index
		}
		if last = e.Index; last == s.Index {
			f.Entry = *e
			f.Entry.Data = slices.Clone(e.Data)
		}
		return nil
	})
	switch {
	case err != nil:
		return f, err
	case s.Index > last:
		return f, fmt.Errorf("%w: the log in %s ends with entry %d", ErrNothingToSkip, s.Log, last)
	case s.Index < first:
		return f, fmt.Errorf("entry %d can't be skipped: the log in %s begins with entry %d", s.Index, s.Log, first)
	case skipped.have(s.Index):
		return f, fmt.Errorf("%w: entry %d in %s is skipped already", ErrNothingToSkip, s.Index, s.Log)
	}
	return f, s.addDeaths(&f)
}

// addDeaths adds the data of DEATHS to f, if it is about this entry.
func (s *Skip) addDeaths(f *Found) error {
	d, err := readDeaths(s.FS, s.State)
	if err != nil {
		return err
	}
	mark, err := readApplying(s.FS, s.FS.PathJoin(s.State, applyingName))
	if err == nil && mark.last > 0 {
		d = d.and(mark)
	}
	if d.First <= s.Index && s.Index <= d.Last {
		f.Count = d.Count
		if d.exact() {
			f.What = d.What
		}
	}
	return err
}

// keptEntry is the content of the file that keeps a skipped entry.
type keptEntry struct {
	Index   uint64    `json:"index"`
	Term    uint64    `json:"term,omitempty"`
	Skipped time.Time `json:"skipped"`
	What    string    `json:"what"`
	SHA256  string    `json:"sha256"`
	Data    []byte    `json:"data"`
}

const (
	keptWhat   = "skipped entry"
	keptFormat = 1
)

// Perform writes the entry to a file of the data directory, and makes the log return instead in its
// place. It returns the name of the file. After an interruption it can be performed again.
func (s *Skip) Perform(f *Found, instead []byte) (kept string, err error) {
	skipped, err := readSkipped(s.FS, s.Log)
	if err != nil {
		return "", err
	}
	e := SkippedEntry{Index: s.Index, SHA256: sumOf(f.Entry.Data), Instead: instead}
	name := keptName(s.Index)
	keep := keptEntry{s.Index, f.Entry.Term, time.Now().UTC().Truncate(time.Second), f.What, e.SHA256, f.Entry.Data}
	if err := WriteSealed(s.FS, s.Dir, name, keptWhat, keptFormat, keep); err != nil {
		return "", fmt.Errorf("keep entry %d: %w", s.Index, err)
	}
	if err := WriteSealed(s.FS, s.Log, skippedName, skippedWhat, skippedFormat, append(skipped, e)); err != nil {
		return "", fmt.Errorf("skip entry %d: %w", s.Index, err)
	}
	return s.FS.PathJoin(s.Dir, name), removeIfThere(s.FS, s.FS.PathJoin(s.State, deathsName))
}

// SkipEntry skips an entry in the log of a single server, if confirm returns true. It returns the
// name of the file that keeps the entry; empty: confirm returned false. Requires: no server uses
// the data directory. A nil fsys is the operating system's.
func SkipEntry(fsys vfs.FS, dir string, index uint64, confirm func(*Found) bool) (kept string, err error) {
	v, err := newVerifier(fsys, dir, anyCommands{}, func(string) {})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, v.dir.Close()) }()
	after, err := v.newestSnapshot()
	if err != nil {
		return "", err
	}
	name, there, err := v.logAfter(after)
	if err == nil && !there {
		err = fmt.Errorf("%w: %s has no log", ErrNothingToSkip, dir)
	}
	if err != nil {
		return "", err
	}
	s := Skip{FS: v.dir.FS, Dir: dir, Log: v.dir.join(name), State: dir, After: after.LogIndex, Index: index}
	found, err := s.Find()
	if err != nil || !confirm(&found) {
		return "", err
	}
	return s.Perform(&found, emptyEntry)
}

// newestSnapshot returns the newest snapshot without verifying it; zero: there is no snapshot.
func (v *verifier) newestSnapshot() (Info, error) {
	dir := v.dir.join(snapshotsDir)
	if _, err := v.dir.FS.Stat(dir); isMissing(err) {
		return Info{}, nil
	}
	all, err := newSnapshots(v.dir.FS, dir, SnapshotOptions{}).All()
	if err != nil || len(all) == 0 {
		return Info{}, err
	}
	return all[0], nil
}
