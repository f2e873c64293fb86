package persist

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSavingIsSeenAtOnce: a snapshot is under way from the return of Save on, also before the
// state is frozen. So code that waits for its end does not miss its start.
func TestSavingIsSeenAtOnce(t *testing.T) {
	s := start(t, testOptions(t, vfs.NewMem(), EverySecond))
	defer end(t, s, false)
	s.logMu.lock() // the freeze waits
	done := make(chan error, 1)
	if err := s.Save(func(_ Info, err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	first, second := s.Status().Saving.Since, s.Status().Saving.Since
	if first.IsZero() || first != second {
		t.Errorf("it began at %v, then at %v", first, second)
	}
	s.logMu.unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := s.Save(func(_ Info, err error) { done <- err }); err != nil {
		t.Errorf("right after the end of a snapshot: %v", err)
	}
	<-done
	if now := s.Status().Saving; !now.Since.IsZero() || now.Keys != 0 {
		t.Errorf("after the end: %+v", now)
	}
}
