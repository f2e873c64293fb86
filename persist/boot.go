package persist

import (
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BootID returns the id of this boot of the operating system, or "" if it is unknown.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// BOOT holds the boot id of the system at the last opening of the log. If it differs from
// the current boot id, the machine may have lost unsynced bytes since; if it is equal, it
// has not. A copy on another machine has another boot id.
const (
	bootName   = "BOOT"
	bootWhat   = "run of the system"
	bootFormat = 1
)

type bootMark struct {
	Boot string `json:"boot"`
}

// isSameBoot reports whether the log of a data directory was last opened in this boot;
// false if that is unknown. An error means that it is unknown because BOOT is damaged or
// cannot be read.
func isSameBoot(fsys vfs.FS, dir, boot string) (bool, error) {
	var mark bootMark
	err := ReadSealed(fsys, fsys.PathJoin(dir, bootName), bootWhat, bootFormat, &mark)
	if isMissing(err) {
		return false, nil
	}
	return err == nil && boot != "" && mark.Boot == boot, err
}

// writeBoot records the boot in which the log is open. Requires: the log was repaired and
// synced before, because a torn end is later taken for a torn end of this boot.
func writeBoot(fsys vfs.FS, dir, boot string) error {
	if err := WriteSealed(fsys, dir, bootName, bootWhat, bootFormat, bootMark{boot}); err != nil {
		return fmt.Errorf("write the boot id: %w", err)
	}
	return nil
}
