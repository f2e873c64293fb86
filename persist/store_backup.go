package persist

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

const (
	snapshotsDir = "snapshots"
	backupsDir   = "backups"
)

// backupName is what a backup may be called.
var backupName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$`)

// ErrBackupName says what a backup may be called.
var ErrBackupName = errors.New("a backup's name is 1 to 64 letters, digits, '_' or '-', and begins with a letter or digit")

// Backup makes a data directory of its own of this moment, backups/name below
// this one, from which another node can start once it is copied. done is called
// once, from another goroutine, with its path. Otherwise it is like Save.
func (s *Store) Backup(name string, done func(path string, err error)) error {
	path, err := BackupPath(s.o.FS, s.o.Dir, name)
	if err != nil {
		return err
	}
	return s.begin(func(info Info) error {
		if err := s.copyTo(path, info); err != nil {
			return fmt.Errorf("back up to %s: %w", path, err)
		}
		return nil
	}, func(_ Info, err error) { done(path, err) })
}

// copyTo puts the newest snapshot into a directory, under another name until all
// of it is there.
func (s *Store) copyTo(path string, info Info) error {
	of := Origin{ID: s.dir.ID, Taken: info.Taken.UTC(), Index: info.LogIndex, Now: info.Now}
	return writeBackup(s.o.FS, path, path+suffixTemporary, s.dir.Seed, of, s.snapshots.Checkpoint)
}

// A backup has a mark in it, which says that its log is not missing: there is none
// yet. The mark is gone once a server has started on it.
const (
	backupMark       = "BACKUP"
	backupMarkWhat   = "backup"
	backupMarkFormat = 1
)

// An Origin is the content of the mark: the state that a backup holds. Where Repair set a
// log aside only ID and Taken are set.
type Origin struct {
	ID      string         `json:"id"`                // of the node
	Taken   time.Time      `json:"taken"`             // by the node's clock
	Cluster string         `json:"cluster,omitempty"` // its id; empty: a server by itself
	Index   uint64         `json:"index,omitempty"`   // of the last entry of the log that the state holds
	Term    uint64         `json:"term,omitempty"`    // of that entry; 0: not known
	Now     engine.Instant `json:"now,omitempty"`     // the time of the state
}

// BackupPath is where a node makes a backup of a name below its data directory. It
// refuses a name that may not be, and one that there is already.
func BackupPath(fsys vfs.FS, dir, name string) (string, error) {
	if !backupName.MatchString(name) {
		return "", ErrBackupName
	}
	path := fsys.PathJoin(dir, backupsDir, name)
	if _, err := fsys.Stat(path); err == nil {
		return "", fmt.Errorf("there is a backup %s already", path)
	}
	return path, nil
}

// WriteBackup makes a backup of a point in time of an engine whose hashes have a seed,
// as a directory at path. It is made at draft, which is deleted first, and moved to path
// when all of it is on disk. At path there may be an empty directory, and nothing else.
func WriteBackup(ctx context.Context, fsys vfs.FS, path, draft string, from BlockSource, seed Seed, of Origin) error {
	return writeBackup(fsys, path, draft, seed, of, func(dir string) error {
		s, err := OpenSnapshots(fsys, dir, SnapshotOptions{})
		if err != nil {
			return err
		}
		_, err = s.Write(ctx, from, Meta{LogDir: logName(1), LogIndex: of.Index, Now: of.Now, Seed: seed, Taken: of.Taken}, nil)
		return errors.Join(err, s.Close())
	})
}

// writeBackup is WriteBackup with a function that makes the directory of snapshots.
func writeBackup(fsys vfs.FS, path, draft string, seed Seed, of Origin, snapshots func(dir string) error) error {
	if err := fsys.RemoveAll(draft); err != nil {
		return err
	}
	if err := MakeDir(fsys, draft); err != nil {
		return err
	}
	err := snapshots(fsys.PathJoin(draft, snapshotsDir))
	if err == nil {
		err = writeMark(fsys, draft, of)
	}
	if err == nil {
		err = writeIdentity(fsys, draft, newIdentity(seed))
	}
	if err == nil {
		return Publish(fsys, draft, path)
	}
	return errors.Join(err, fsys.RemoveAll(draft))
}

// Publish moves a complete directory from draft to path, where there is nothing or an
// empty directory: after a crash either all of it is there, or it is still at draft. Its
// files must be on disk.
func Publish(fsys vfs.FS, draft, path string) error {
	if err := syncDirs(fsys, draft); err != nil {
		return err
	}
	if err := fsys.Rename(draft, path); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(path))
}

// syncDirs syncs a directory and all that are below it.
func syncDirs(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		below := fsys.PathJoin(dir, name)
		if info, err := fsys.Stat(below); err != nil {
			return err
		} else if !info.IsDir() {
			continue
		}
		if err := syncDirs(fsys, below); err != nil {
			return err
		}
	}
	return syncDir(fsys, dir)
}

// markBackup marks a directory whose log was set aside.
func markBackup(fsys vfs.FS, dir, id string) error {
	return writeMark(fsys, dir, Origin{ID: id, Taken: time.Now().UTC().Truncate(time.Second)})
}

func writeMark(fsys vfs.FS, dir string, of Origin) error {
	return WriteSealed(fsys, dir, backupMark, backupMarkWhat, backupMarkFormat, of)
}

func readMark(fsys vfs.FS, dir string) (of Origin, err error) {
	err = ReadSealed(fsys, fsys.PathJoin(dir, backupMark), backupMarkWhat, backupMarkFormat, &of)
	return of, err
}

func isBackup(fsys vfs.FS, dir string) bool {
	_, err := readMark(fsys, dir)
	return err == nil
}

// endBackup says that a backup has a log from now on.
func endBackup(fsys vfs.FS, dir string) error {
	if !isBackup(fsys, dir) {
		return nil
	}
	if err := fsys.Remove(fsys.PathJoin(dir, backupMark)); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}
