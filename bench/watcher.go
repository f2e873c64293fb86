package main

import (
	"sync"
	"time"
)

// A watcher keeps how long requests waited that were under way at any time
// between open and close. The zero value is not open yet. Any number of
// goroutines may use it at once.
type watcher struct {
	lock     sync.Mutex
	from, to time.Time // zero: not open yet, not closed yet
	seen     histogram
}

// open begins to count.
func (w *watcher) open() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.from = time.Now()
}

// close counts no request that begins later.
func (w *watcher) close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.to = time.Now()
}

// saw is told of n requests that waited from begin to end.
func (w *watcher) saw(begin, end time.Time, n int64) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.from.IsZero() || end.Before(w.from) || !w.to.IsZero() && begin.After(w.to) {
		return
	}
	w.seen.add(end.Sub(begin), n)
}

// latency sums up what was seen.
func (w *watcher) latency() latency {
	w.lock.Lock()
	defer w.lock.Unlock()
	return latencyOf(&w.seen)
}
