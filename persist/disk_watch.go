package persist

import (
	"context"
	"sync/atomic"
	"time"
)

// WatchEvery is the period of a [DiskWatch] that is not idle.
const WatchEvery = 50 * time.Millisecond

// A DiskWatch stops its timer after idleAfter periods without a write.
const idleAfter = 20

// A DiskWatch measures the duration of writes to a disk. It only counts time while this
// process ran: it counts its own periods, each as two at most. So a process that was
// stopped, or got no processor, is not mistaken for a disk that hangs. All logs on a disk
// share a DiskWatch. While nothing is written it sets no timer.
type DiskWatch struct {
	ran    atomic.Int64 // nanoseconds
	writes activity     // signalled when a write begins
}

// NewDiskWatch returns a DiskWatch. It measures nothing until Run.
func NewDiskWatch() *DiskWatch { return &DiskWatch{writes: newActivity()} }

// Run measures until ctx ends and calls check in each period. check must not block on the
// disk; it returns whether an operation is under way that it must check again.
func (w *DiskWatch) Run(ctx context.Context, check func() (busy bool)) {
	ticker := time.NewTicker(WatchEvery)
	defer ticker.Stop()
	last := time.Now()
	for idle := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		w.addElapsed(now.Sub(last))
		last = now
		used := w.writes.seen()
		if check() || used {
			idle = 0
			continue
		}
		if idle++; idle < idleAfter {
			continue
		}
		ticker.Stop()
		if !w.writes.wait(ctx.Done()) {
			return
		}
		ticker.Reset(WatchEvery)
		idle, last = 0, time.Now()
	}
}

// addElapsed counts the time since the last period.
func (w *DiskWatch) addElapsed(passed time.Duration) { w.ran.Add(int64(min(passed, 2*WatchEvery))) }

// Stopwatch returns a Stopwatch for writes to the disk.
func (w *DiskWatch) Stopwatch() *Stopwatch { return &Stopwatch{watch: w} }

// A Stopwatch measures one write at a time. Concurrency: any goroutine may call Running.
type Stopwatch struct {
	watch *DiskWatch
	since atomic.Int64 // watch.ran at the start, plus 1; 0: no write is under way
}

// Start begins a measurement.
func (s *Stopwatch) Start() {
	s.since.Store(s.watch.ran.Load() + 1)
	s.watch.writes.mark()
}

// Stop ends the measurement.
func (s *Stopwatch) Stop() { s.since.Store(0) }

// Running returns the duration of the write so far, and whether a write is under way.
func (s *Stopwatch) Running() (took time.Duration, running bool) {
	since := s.since.Load()
	if since == 0 {
		return 0, false
	}
	return time.Duration(s.watch.ran.Load() + 1 - since), true
}
