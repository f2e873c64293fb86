package persist

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// failing makes a store notice that its disk fails.
func failing(t *testing.T, s *Store, disk *badDisk, only ...errorfs.OpKind) {
	t.Helper()
	disk.fail(syscall.EIO, only...)
	eventually(t, "the failure is detected", func() bool {
		_ = perform(s, taking(counterOf, "a"))
		return s.Status().Failed != nil
	})
}

// TestReopenClosesTheOldLog: the files of a failed log occupy space until they are
// closed, even if they are removed.
func TestReopenClosesTheOldLog(t *testing.T) {
	for _, policy := range allPolicies {
		t.Run(policy.String(), func(t *testing.T) {
			var disk badDisk
			s := start(t, testOptions(t, disk.over(vfs.NewMem()), policy))
			defer end(t, s, false)
			for range 3 {
				old := s.log.Load()
				failing(t, s, &disk)
				disk.heal()
				eventually(t, "the log is reopened", func() bool { return s.Status().Failed == nil })
				eventually(t, "the old log is closed", old.closed.Load)
			}
		})
	}
}

// TestBrokenLogClosesTwice: a log that reopening gave up is closed again at the end.
func TestBrokenLogClosesTwice(t *testing.T) {
	var disk badDisk
	l := openLog(t, disk.over(vfs.NewMem()), "log", LogOptions{Policy: EverySecond})
	disk.fail(syscall.EIO)
	if _, err := l.Append([]byte("entry")); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Append returns %v", err)
	}
	disk.heal()
	closeLog(t, l)
	closeLog(t, l)
}

// TestFullAtSync: the op of a rejected batch may exist after a restart only if its error
// said so.
func TestFullAtSync(t *testing.T) {
	var disk badDisk
	o := testOptions(t, disk.over(vfs.NewMem()), Always)
	o.RetryEvery = time.Hour
	s := start(t, o)
	disk.fail(syscall.ENOSPC, errorfs.OpFileSyncData)
	err := perform(s, taking(counterOf, "a"))
	disk.fail(syscall.ENOSPC)
	_ = s.Close(context.Background(), SaveNever) // returns the failure
	disk.heal()
	s = start(t, o)
	defer end(t, s, false)
	if n := used(s, "a"); n > 0 && !errors.Is(err, ErrUncertain) {
		t.Errorf("%d permits are used after a restart, but the answer was: %v", n, err)
	}
}

// TestOldSnapshotOfAnotherLog: if the newest snapshot is damaged, the previous snapshot
// must not be used if it belongs to a log that failed, because that log lacks all later
// decisions.
func TestOldSnapshotOfAnotherLog(t *testing.T) {
	var (
		fs     = vfs.NewMem()
		disk   badDisk
		o      = testOptions(t, disk.over(fs), EverySecond)
		record = fs.PathJoin(testDir, snapshotsDir, recordName(1))
		kept   = fs.PathJoin(testDir, "kept")
	)
	s := start(t, o)
	// of an empty state, so that the snapshot is its record alone
	if _, err := s.saveAndWait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := vfs.Copy(fs, record, kept); err != nil {
		t.Fatal(err)
	}
	failing(t, s, &disk)
	disk.heal()
	eventually(t, "the log is reopened", func() bool { return s.Status().Failed == nil })
	end(t, s, false)
	// As left by a crash between writing the new record and removing the old record.
	if err := vfs.Copy(fs, kept, record); err != nil {
		t.Fatal(err)
	}
	log, err := s.openLog(logName(1), LogOptions{First: 1})
	if err != nil {
		t.Fatal(err)
	}
	closeLog(t, log)
	for _, name := range filesOf(t, fs, testDir) {
		if strings.HasSuffix(name, ".sst") {
			overwrite(t, fs, name)
		}
	}
	s, err = Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background(), SaveNever)
	var corrupt *CorruptError
	if err := s.Recover(context.Background()); !errors.As(err, &corrupt) {
		t.Errorf("Recover returns %v", err)
	}
	if _, err := fs.Stat(fs.PathJoin(testDir, logName(2))); err != nil {
		t.Errorf("the log of the damaged snapshot is gone: %v", err)
	}
}

// overwrite damages a file in its middle.
func overwrite(t *testing.T, fs vfs.FS, name string) {
	t.Helper()
	file, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("damage"), 40); err != nil {
		t.Fatal(err)
	}
}
