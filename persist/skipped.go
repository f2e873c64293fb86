package persist

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SKIPPED, in the directory of a log, lists the entries that readers of the log get in another
// form, because no node could apply them. The segments keep the entries as they were written.
const (
	skippedName   = "SKIPPED"
	skippedWhat   = "skipped entries"
	skippedFormat = 1
)

// SkippedEntries are the skipped entries of a log.
type SkippedEntries []SkippedEntry

// A SkippedEntry is an entry that is replaced when the log is read.
type SkippedEntry struct {
	Index uint64 `json:"index"`
	// SHA256 is the hash of the entry's data, in hexadecimal. If raft has stored other data at the
	// index later, that entry is not skipped.
	SHA256  string `json:"sha256"`
	Instead []byte `json:"instead"` // the data that readers get
}

// readSkipped reads the list of the log in dir.
func readSkipped(fsys vfs.FS, dir string) (s SkippedEntries, err error) {
	err = ReadSealed(fsys, fsys.PathJoin(dir, skippedName), skippedWhat, skippedFormat, &s)
	if isMissing(err) {
		return nil, nil
	}
	return s, err
}

// have reports whether the list has an entry with this index.
func (s SkippedEntries) have(index uint64) bool {
	return slices.ContainsFunc(s, func(e SkippedEntry) bool { return e.Index == index })
}

// replace returns the data that readers get for the entry at index. data is the stored data.
func (s SkippedEntries) replace(index uint64, data []byte) []byte {
	for i := range s {
		if e := &s[i]; e.Index == index && e.SHA256 == sumOf(data) {
			return e.Instead
		}
	}
	return data
}

// sumOf returns the SHA-256 of an entry's data in hexadecimal.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// keptName returns the name of the file that keeps a skipped entry.
func keptName(index uint64) string { return fmt.Sprintf("skipped-entry-%d", index) }
