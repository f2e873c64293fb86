package persist

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// TestFilesArePrivate opens a new data directory, and a directory with files that other users may
// read and write: with the seed in IDENTITY, and in the records of snapshots, an attacker can aim
// keys.
func TestFilesArePrivate(t *testing.T) {
	o, dir := testOptions(t, vfs.Default, Always), t.TempDir()
	o.Dir = dir
	s := start(t, o)
	checkMode(t, filepath.Join(dir, identityName))
	take := engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: []byte("key"), Params: counterOf, N: 1}}}
	if err := perform(s, &take); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	if err := s.Backup("copy", func(_ string, err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkMode(t, filepath.Join(dir, "backups", "copy", identityName))
	end(t, s, false)
	files := 0
	each := func(do func(name string)) {
		err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				do(name)
				files++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each(func(name string) {
		if err := os.Chmod(name, 0o666); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.Symlink("/dev/null", filepath.Join(dir, "LINK")); err != nil {
		t.Fatal(err)
	}
	s = start(t, o)
	defer end(t, s, false)
	each(func(name string) { checkMode(t, name) })
	if files < 10 {
		t.Errorf("%d files were seen, want more", files)
	}
}

func checkMode(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != privateMode {
		t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, privateMode)
	}
}
