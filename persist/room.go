package persist

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallFiles is the room in bytes for all files except log segments: records of snapshots, META and
// other small files.
const smallFiles = 1 << 20

// LogReserve returns the number of bytes that must stay free on the disk of a log while a snapshot
// or a backup is written. It is enough for the next two segments.
func LogReserve(segmentBytes int64) int64 { return 2*segmentBytes + smallFiles }

// FreeBytes returns the number of bytes that can be written to the disk of a directory. known is
// false if the file system does not report it. Cost: a statfs(2), which may hang with the disk.
func FreeBytes(fsys vfs.FS, dir string) (free int64, known bool) {
	usage, err := fsys.GetDiskUsage(dir)
	return int64(min(usage.AvailBytes, 1<<62)), err == nil
}

// IsFull reports whether err means a full disk or an exhausted quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// A NoRoomError reports that a snapshot or a backup was not begun, or was abandoned, because it
// would have left too little room for the log. IsFull returns true for it.
type NoRoomError struct {
	Dir           string
	Free          int64 // free bytes on the disk of Dir
	Need, Reserve int64 // bytes still to be written, and bytes that must stay free
}

func (e *NoRoomError) Error() string {
	room := fmt.Sprintf("the disk of %s has %d MB free, and %d MB must stay for the log", e.Dir, e.Free>>20,
		megabytes(e.Reserve))
	if e.Need > 0 {
		room += fmt.Sprintf(" beside about %d MB for the snapshot", megabytes(e.Need))
	}
	return room + ": remove files that are not limitsrv's, or enlarge the disk"
}

// megabytes returns a number of bytes in MB, rounded up.
func megabytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// Unwrap returns ENOSPC, so that IsFull returns true.
func (e *NoRoomError) Unwrap() error { return syscall.ENOSPC }

// CheckRoom returns a *NoRoomError if writing need bytes to the disk of dir would leave less than
// reserve bytes free. It returns nil if the file system does not report its free space.
func CheckRoom(fsys vfs.FS, dir string, need, reserve int64) error {
	if free, known := FreeBytes(fsys, dir); known && free-need < reserve {
		return &NoRoomError{Dir: dir, Free: free, Need: need, Reserve: reserve}
	}
	return nil
}
