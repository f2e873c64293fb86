package persist

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestLogIdle writes to a log occasionally: each write is synced within a second, and
// the log does not sync while nothing is written. A sync would fail and break the log.
func TestLogIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, vfs.NewMem(), "/log", LogOptions{Policy: EverySecond})
		t.Cleanup(func() { _ = l.Close() }) // it is broken at that point
		for i := range uint64(10) {
			mustAppend(t, l, nil)
			time.Sleep(time.Second)
			if synctest.Wait(); l.Synced() != i+1 {
				t.Fatalf("a second after write %d: synced to %d", i+1, l.Synced())
			}
			time.Sleep(time.Duration(i) * 700 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		broken := errors.New("broken")
		l.files.syncMu.Lock()
		l.files.failed = broken
		l.files.syncMu.Unlock()
		time.Sleep(time.Hour)
		if synctest.Wait(); l.Err() != nil {
			t.Errorf("an idle log was synced: %v", l.Err())
		}
		mustAppend(t, l, nil)
		time.Sleep(time.Second)
		if synctest.Wait(); !errors.Is(l.Err(), broken) {
			t.Errorf("a second after a write: %v, want the error of the sync", l.Err())
		}
	})
}

// TestMaintainIdle checks that maintain does nothing without work until fail or
// the DiskWatch wakes it.
func TestMaintainIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, testOptions(t, vfs.NewMem(), EverySecond))
		time.Sleep(time.Hour)
		synctest.Wait()
		s.failure.Store(&Failure{Err: errHangs}) // maintain is not woken
		time.Sleep(time.Hour)
		if synctest.Wait(); s.failure.Load() == nil {
			t.Error("maintain worked without being woken")
		}
		s.failure.Store(nil)
		s.fail(errHangs)
		time.Sleep(time.Hour)
		if synctest.Wait(); s.failure.Load() != nil {
			t.Error("the failed log was not reopened")
		}
		end(t, s, false)
	})
}
