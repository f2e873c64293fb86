package persist

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestLogRests writes to a log now and then: each write is synced within a second, and
// while there are none the log does not sync, which it would find out about here.
func TestLogRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, vfs.NewMem(), "/log", LogOptions{Policy: EverySecond})
		t.Cleanup(func() { _ = l.Close() }) // it is broken by then
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
			t.Errorf("a sync of a log that is not written: %v", l.Err())
		}
		mustAppend(t, l, nil)
		time.Sleep(time.Second)
		if synctest.Wait(); !errors.Is(l.Err(), broken) {
			t.Errorf("a second after a write: %v, want that the sync has failed", l.Err())
		}
	})
}

// TestAttendRests has a Store without work: attend does not look, until fail or the watch
// over the log calls for it.
func TestAttendRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, testOptions(t, vfs.NewMem(), EverySecond))
		time.Sleep(time.Hour)
		synctest.Wait()
		s.failure.Store(&Failure{Err: errHangs}) // nobody is told
		time.Sleep(time.Hour)
		if synctest.Wait(); s.failure.Load() == nil {
			t.Error("attend has looked at a Store that nobody called it for")
		}
		s.failure.Store(nil)
		s.fail(errHangs)
		time.Sleep(time.Hour)
		if synctest.Wait(); s.failure.Load() != nil {
			t.Error("a disk that failed was not mended")
		}
		end(t, s, false)
	})
}
