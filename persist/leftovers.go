package persist

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sealedLeftover matches the names of sealed files in a data directory that were not
// completed.
var sealedLeftover = regexp.MustCompile(`^[A-Z]+\` + suffixTemporary + `$`)

// RemoveLeftovers removes the incomplete files and backups that a process which was killed
// has left in a data directory. Each part removes its own leftovers below: Snapshots and Log
// when they are opened. It writes nothing, so that it works on a full disk. Requires: the
// directory is locked, and nothing writes to it.
func (d *Dir) RemoveLeftovers() error {
	return errors.Join(
		removeMatching(d.FS, d.Path, sealedLeftover.MatchString),
		removeMatching(d.FS, d.join(backupsDir), isTemporary),
	)
}

// isTemporary reports whether a file or directory of that name is incomplete.
func isTemporary(name string) bool { return strings.HasSuffix(name, suffixTemporary) }

// removeMatching removes everything in a directory with a name for which match returns
// true. A directory that does not exist has nothing.
func removeMatching(fsys vfs.FS, dir string, match func(name string) bool) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if match(name) {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(dir, name)))
		}
	}
	return err
}
