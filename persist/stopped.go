package persist

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// STOPPED says how far the log was on disk when a server last ended in good order.
// Without it an end of the log that is gone could not be told from one that a
// crash kept from being written.
const (
	stoppedName   = "STOPPED"
	stoppedWhat   = "end of the log"
	stoppedFormat = 1
)

// A logEnd is what STOPPED says. It stays true as long as there is that log.
type logEnd struct {
	Log  string `json:"log"`
	Last uint64 `json:"last"` // its last entry
}

func writeStopped(fsys vfs.FS, dir string, end logEnd) error {
	if err := WriteSealed(fsys, dir, stoppedName, stoppedWhat, stoppedFormat, end); err != nil {
		return fmt.Errorf("write where the log ends: %w", err)
	}
	return nil
}

// readStopped is the least that a log must hold: 0 if nothing is known.
func readStopped(fsys vfs.FS, dir, log string) (last uint64, err error) {
	var end logEnd
	err = ReadSealed(fsys, fsys.PathJoin(dir, stoppedName), stoppedWhat, stoppedFormat, &end)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || end.Log != log {
		return 0, err
	}
	return end.Last, nil
}

// forgetStopped removes what is no longer true.
func forgetStopped(fsys vfs.FS, dir string) error {
	err := fsys.Remove(fsys.PathJoin(dir, stoppedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(fsys, dir)
}
