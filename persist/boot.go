package persist

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BootID names the run of the operating system; empty where it can't be told.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// BOOT says in which run of the system the log was last opened: before another one
// the machine may have lost unsynced bytes, and in the same one it has not.
// A copy on another machine has another run.
const (
	bootName   = "BOOT"
	bootWhat   = "run of the system"
	bootFormat = 1
)

type bootMark struct {
	Boot string `json:"boot"`
}

// isSameBoot says whether the log of a data directory was last opened in the run of
// the system that boot names. If nobody knows it was not; the error says that this
// is so because BOOT is damaged.
func isSameBoot(fsys vfs.FS, dir, boot string) (bool, error) {
	var mark bootMark
	err := ReadSealed(fsys, fsys.PathJoin(dir, bootName), bootWhat, bootFormat, &mark)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && boot != "" && mark.Boot == boot, err
}

// writeBoot notes that the log is open in a run of the system. Until then it must
// have been cut off and synced: what is torn in there another run has left.
func writeBoot(fsys vfs.FS, dir, boot string) error {
	if err := WriteSealed(fsys, dir, bootName, bootWhat, bootFormat, bootMark{boot}); err != nil {
		return fmt.Errorf("write in which run of the system the log is open: %w", err)
	}
	return nil
}
