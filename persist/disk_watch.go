package persist

import (
	"context"
	"sync/atomic"
	"time"
)

// WatchEvery is the period of a DiskWatch that does not rest.
const WatchEvery = 50 * time.Millisecond

// restAfter is the number of periods without a write after which a DiskWatch rests.
const restAfter = 20

// A DiskWatch measures how long writes to one disk have been under way, in time in
// which this process ran: it counts its own periods, each as two at most. A process that was
// stopped, or that got no processor, does not take that time for a disk that hangs. All
// logs on a disk share one DiskWatch. While nothing is written it sets no timer.
type DiskWatch struct {
	ran    atomic.Int64 // nanoseconds
	writes lull         // stirred when one begins
}

// NewDiskWatch makes a DiskWatch. It measures nothing until Run.
func NewDiskWatch() *DiskWatch { return &DiskWatch{writes: newLull()} }

// Run measures until ctx ends. It calls look in each period; look must not wait for the
// disk, and returns whether something is under way that it has to look at again.
func (w *DiskWatch) Run(ctx context.Context, look func() (busy bool)) {
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
		w.pass(now.Sub(last))
		last = now
		used := w.writes.over()
		if look() || used {
			idle = 0
			continue
		}
		if idle++; idle < restAfter {
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

// pass counts the time since the last period.
func (w *DiskWatch) pass(passed time.Duration) { w.ran.Add(int64(min(passed, 2*WatchEvery))) }

// Stopwatch makes a Stopwatch for writes to the disk.
func (w *DiskWatch) Stopwatch() *Stopwatch { return &Stopwatch{disk: w} }

// A Stopwatch measures one write at a time. Any goroutine may call Running.
type Stopwatch struct {
	disk  *DiskWatch
	since atomic.Int64 // of disk.ran, and 1; 0: nothing is under way
}

// Start begins a measurement.
func (s *Stopwatch) Start() {
	s.since.Store(s.disk.ran.Load() + 1)
	s.disk.writes.stir()
}

// Stop ends it.
func (s *Stopwatch) Stop() { s.since.Store(0) }

// Running returns for how long the write has been under way, and whether there is one.
func (s *Stopwatch) Running() (took time.Duration, running bool) {
	since := s.since.Load()
	if since == 0 {
		return 0, false
	}
	return time.Duration(s.disk.ran.Load() + 1 - since), true
}
