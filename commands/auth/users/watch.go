package users

import (
	"context"
	"crypto/sha256"
	"time"

	"limitsrv/internal/beat"
	"limitsrv/internal/files"
)

// Watch calls changed whenever the contents of the file at path differ from the contents
// that t was loaded from, or from the contents at the last call of changed, until ctx ends.
// It reads the file at each interval, so that it notices a file that was written in place,
// renamed over, or replaced through a symbolic link. A read error counts as different
// contents, so that it is reported once.
func Watch(ctx context.Context, path string, t *Table, interval time.Duration, changed func()) {
	last := t.digest
	beat.Every(ctx, interval, func() {
		if now := digest(path); now != last {
			last = now
			changed()
		}
	})
}

// digest hashes the contents of a file, or the error of reading it.
func digest(path string) [sha256.Size]byte {
	data, _, err := files.Read(path, maxFileBytes)
	if err != nil {
		return sha256.Sum256([]byte("error: " + err.Error()))
	}
	return sha256.Sum256(data)
}
