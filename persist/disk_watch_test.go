package persist

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDiskWatch has writes take their time, while the process runs and while it does not.
func TestDiskWatch(t *testing.T) {
	w := NewDiskWatch()
	a, b := w.Stopwatch(), w.Stopwatch()
	for _, step := range []struct {
		name   string
		do     func()
		passed time.Duration
		a, b   time.Duration
	}{
		{"nothing is under way", func() {}, WatchEvery, 0, 0},
		{"a write", a.Start, WatchEvery, WatchEvery, 0},
		{"another", b.Start, WatchEvery, 2 * WatchEvery, WatchEvery},
		{"a period that is late", func() {}, 3 * WatchEvery / 2, 7 * WatchEvery / 2, 5 * WatchEvery / 2},
		{"a process that was stopped", func() {}, time.Hour, 11 * WatchEvery / 2, 9 * WatchEvery / 2},
		{"the first ends", a.Stop, WatchEvery, 0, 11 * WatchEvery / 2},
		{"and begins again", a.Start, WatchEvery, WatchEvery, 13 * WatchEvery / 2},
	} {
		step.do()
		w.addElapsed(step.passed)
		for name, got := range map[string]*Stopwatch{"a": a, "b": b} {
			want := map[string]time.Duration{"a": step.a, "b": step.b}[name]
			if took, running := got.Running(); took != want || running != (want > 0) {
				t.Errorf("%s: %s runs %v for %v, want %v", step.name, name, running, took, want)
			}
		}
	}
}

// TestDiskWatchRests has writes come and go: while there are none it does not look, and it
// looks at the next one.
func TestDiskWatchRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewDiskWatch()
		write := w.Stopwatch()
		var looks, longest atomic.Int64
		go w.Run(t.Context(), func() bool {
			took, running := write.Running()
			looks.Add(1)
			longest.Store(max(longest.Load(), int64(took)))
			return running
		})
		for range 10 {
			time.Sleep(time.Minute)
			before := looks.Load()
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := looks.Load() - before; n != 0 {
				t.Fatalf("it looked %d times in an hour without a write", n)
			}
			longest.Store(0)
			write.Start()
			time.Sleep(time.Minute)
			write.Stop()
			synctest.Wait()
			if seen := time.Duration(longest.Load()); seen < time.Minute-2*WatchEvery {
				t.Fatalf("of a write of a minute it saw %v", seen)
			}
		}
	})
}
