package main

import (
	"sync"
	"time"
)

// A watcher records the latency of requests that were in flight at any time between
// open and close. The zero value is not open yet.
//
// Concurrency: safe for concurrent use.
type watcher struct {
	lock     sync.Mutex
	from, to time.Time // zero: not open yet, not closed yet
	seen     histogram
}

// open starts the recording.
func (w *watcher) open() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.from = time.Now()
}

// close ends the recording: requests that begin later are ignored.
func (w *watcher) close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.to = time.Now()
}

// record records n requests with a latency from begin to end.
func (w *watcher) record(begin, end time.Time, n int64) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.from.IsZero() || end.Before(w.from) || !w.to.IsZero() && begin.After(w.to) {
		return
	}
	w.seen.add(end.Sub(begin), n)
}

// latency returns the quantiles of the recorded latencies.
func (w *watcher) latency() latency {
	w.lock.Lock()
	defer w.lock.Unlock()
	return latencyOf(&w.seen)
}
