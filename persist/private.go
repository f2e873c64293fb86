package persist

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// privateMode is the mode of files with the seed or the state: only the owner has access.
const privateMode = 0o600

// makePrivate sets the mode of a file to privateMode, if it is in the operating system's file
// system.
func makePrivate(fsys vfs.FS, name string) error {
	if fsys != vfs.Default {
		return nil
	}
	return os.Chmod(name, privateMode)
}

// makeAllPrivate sets privateMode on each file below a directory that other users may access.
// Earlier versions created them with the rights that the umask permitted. It continues after an
// error, and returns all errors.
func makeAllPrivate(fsys vfs.FS, dir string) error {
	if fsys != vfs.Default {
		return nil
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	var failed []error
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		switch {
		case err != nil:
		case entry.Name() == "lost+found": // belongs to root, in the root directory of a file system
			return fs.SkipDir
		case entry.Type().IsRegular():
			if info, err = entry.Info(); err == nil && info.Mode().Perm()&^privateMode != 0 {
				err = os.Chmod(name, privateMode)
			}
		}
		failed = append(failed, err)
		return nil
	})
	return errors.Join(append(failed, err)...)
}
