package users

import (
	"context"
	"crypto/sha256"
	"time"

	"limitsrv/beat"
	"limitsrv/files"
)

// Watch calls changed whenever what the file at path says has become other than what
// it said when t was loaded, or when changed was last called, until ctx ends. It reads the file at each
// interval, so that it sees a file that was written in place, one that was renamed over
// it and one that a symbolic link now leads to. A file that can not be read is one
// that says something else, so that its error is found once.
func Watch(ctx context.Context, path string, t *Table, interval time.Duration, changed func()) {
	last := t.digest
	timer := time.NewTimer(beat.Wait(interval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(beat.Wait(interval))
		if now := digest(path); now != last {
			last = now
			changed()
		}
	}
}

// digest is of what a file says, or of why it can not be read.
func digest(path string) [sha256.Size]byte {
	data, _, err := files.Read(path, maxFileBytes)
	if err != nil {
		return sha256.Sum256([]byte("error: " + err.Error()))
	}
	return sha256.Sum256(data)
}
