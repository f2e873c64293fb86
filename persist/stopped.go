package persist

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// STOPPED holds the last entry of the log at the last clean shutdown. Without it, missing
// entries at the end of the log could not be distinguished from entries that a crash kept
// from being written.
const (
	stoppedName   = "STOPPED"
	stoppedWhat   = "end of the log"
	stoppedFormat = 1
)

// A logEnd is the content of STOPPED. It remains true while that log exists.
type logEnd struct {
	Log  string `json:"log"`
	Last uint64 `json:"last"` // index of the last entry
}

func writeStopped(fsys vfs.FS, dir string, end logEnd) error {
	if err := WriteSealed(fsys, dir, stoppedName, stoppedWhat, stoppedFormat, end); err != nil {
		return fmt.Errorf("write the end of the log: %w", err)
	}
	return nil
}

// readStopped returns the index of the last entry that the log must have: 0 if unknown.
func readStopped(fsys vfs.FS, dir, log string) (last uint64, err error) {
	var end logEnd
	err = ReadSealed(fsys, fsys.PathJoin(dir, stoppedName), stoppedWhat, stoppedFormat, &end)
	if isMissing(err) {
		return 0, nil
	}
	if err != nil || end.Log != log {
		return 0, err
	}
	return end.Last, nil
}

// removeStopped removes STOPPED when it is no longer true.
func removeStopped(fsys vfs.FS, dir string) error {
	if err := removeIfThere(fsys, fsys.PathJoin(dir, stoppedName)); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}
