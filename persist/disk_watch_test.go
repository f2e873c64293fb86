package persist

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDiskWatch measures writes while the process runs and while it is stopped.
func TestDiskWatch(t *testing.T) {
	w := NewDiskWatch()
	a, b := w.Stopwatch(), w.Stopwatch()
	for _, step := range []struct {
		name   string
		do     func()
		passed time.Duration
		a, b   time.Duration
	}{
		{"no write", func() {}, WatchEvery, 0, 0},
		{"a write", a.Start, WatchEvery, WatchEvery, 0},
		{"another", b.Start, WatchEvery, 2 * WatchEvery, WatchEvery},
		{"a late period", func() {}, 3 * WatchEvery / 2, 7 * WatchEvery / 2, 5 * WatchEvery / 2},
		{"a stopped process", func() {}, time.Hour, 11 * WatchEvery / 2, 9 * WatchEvery / 2},
		{"the first write ends", a.Stop, WatchEvery, 0, 11 * WatchEvery / 2},
		{"the first writer starts again", a.Start, WatchEvery, WatchEvery, 13 * WatchEvery / 2},
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

// TestDiskWatchIdle checks that the disk is not checked while nothing is written, and
// that the next write is.
func TestDiskWatchIdle(t *testing.T) {
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
				t.Fatalf("%d checks in an hour without a write", n)
			}
			longest.Store(0)
			write.Start()
			time.Sleep(time.Minute)
			write.Stop()
			synctest.Wait()
			if seen := time.Duration(longest.Load()); seen < time.Minute-2*WatchEvery {
				t.Fatalf("during a write of a minute it measured %v", seen)
			}
		}
	})
}
