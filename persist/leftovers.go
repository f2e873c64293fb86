package persist

import (
	"errors"
	"regexp"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sealedLeftover matches the names of incomplete sealed files in a data directory.
var sealedLeftover = regexp.MustCompile(`^[A-Z]+\` + suffixTemporary + `$`)

// RemoveLeftovers removes the incomplete files and backups that a killed process has left in a data
// directory. It leaves subdirectories to their owners: Snapshots and Log remove their own leftovers
// when they are opened. It writes nothing, so it works on a full disk. Requires: the directory is
// locked, and nothing writes to it.
func (d *Dir) RemoveLeftovers() error {
	return errors.Join(
		removeMatching(d.FS, d.Path, sealedLeftover.MatchString),
		removeMatching(d.FS, d.join(backupsDir), isTemporary),
	)
}

// isTemporary reports whether name is the name of an incomplete file or directory.
func isTemporary(name string) bool { return strings.HasSuffix(name, suffixTemporary) }

// removeMatching removes each entry of a directory that match accepts. It does nothing if the
// directory does not exist.
func removeMatching(fsys vfs.FS, dir string, match func(name string) bool) error {
	names, err := fsys.List(dir)
	if isMissing(err) {
		return nil
	}
	for _, name := range names {
		if match(name) {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(dir, name)))
		}
	}
	return err
}
