package commands

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the slow log and of its entries, equal to Redis'.
const (
	defaultSlower  = 10 * time.Millisecond
	defaultSlowLog = 128
	maxSlowLog     = 10_000
	slowArgs       = 32
	slowArgBytes   = 128

	latencySamples = 160 // of each event
)

// A slowWatch holds the commands of SLOWLOG and the events of LATENCY. Any number of
// goroutines may use it.
type slowWatch struct {
	least atomic.Int64 // threshold in nanoseconds below which nothing is recorded

	mu      sync.Mutex
	slower  int64 // threshold of the slow log in microseconds; negative: off
	monitor int64 // threshold of latency events in milliseconds; 0: off
	most    int   // maximum number of entries
	nextID  int64
	entries []slowEntry // oldest first
	events  map[string]*latencyEvent
}

// A slowEntry is an entry of the slow log.
type slowEntry struct {
	id         int64
	at, micros int64 // time in seconds since 1970, and duration
	args       []string
	addr, name string
}

// A latencyEvent holds the samples of LATENCY for one kind of command.
type latencyEvent struct {
	samples []latencySample // oldest first; at most one a second
	max     int64           // milliseconds
}

type latencySample struct{ at, millis int64 }

func newSlowWatch() *slowWatch {
	w := &slowWatch{slower: defaultSlower.Microseconds(), most: defaultSlowLog, events: map[string]*latencyEvent{}}
	w.updateThreshold()
	return w
}

// updateThreshold recomputes least. Requires: mu is held, or w is not shared yet.
func (w *slowWatch) updateThreshold() {
	least := int64(math.MaxInt64)
	if w.slower >= 0 {
		least = w.slower * 1000
	}
	if w.monitor > 0 {
		least = min(least, w.monitor*1_000_000)
	}
	w.least.Store(least)
}

// set changes the bounds or the entries.
func (w *slowWatch) set(change func(*slowWatch)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
	w.trim()
	w.updateThreshold()
}

// trim drops the oldest entries beyond most.
func (w *slowWatch) trim() {
	if surplus := len(w.entries) - w.most; surplus > 0 {
		w.entries = append(w.entries[:0], w.entries[surplus:]...)
	}
}

// note records a command that took nanos, if that reaches a threshold.
func (s *Session) note(c *spec, args [][]byte, nanos int64) {
	w := s.h.slow
	s.mu.Lock()
	name := s.shown.name
	s.mu.Unlock()
	now := time.Now().Unix()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.monitor > 0 && nanos >= w.monitor*1_000_000 {
		w.event(c, latencySample{now, nanos / 1_000_000})
	}
	if w.slower < 0 || nanos < w.slower*1000 || w.most == 0 {
		return
	}
	w.entries = append(w.entries, slowEntry{w.nextID, now, nanos / 1000, excerpts(redacted(c, args)), s.client.Addr, name})
	w.nextID++
	w.trim()
}

func (w *slowWatch) event(c *spec, sample latencySample) {
	name := "command"
	if c.Flags&Fast != 0 {
		name = "fast-command"
	}
	e := w.events[name]
	if e == nil {
		e = &latencyEvent{}
		w.events[name] = e
	}
	e.max = max(e.max, sample.millis)
	if n := len(e.samples); n > 0 && e.samples[n-1].at == sample.at {
		e.samples[n-1].millis = max(e.samples[n-1].millis, sample.millis)
		return
	}
	if len(e.samples) == latencySamples {
		e.samples = append(e.samples[:0], e.samples[1:]...)
	}
	e.samples = append(e.samples, sample)
}

// excerpts returns arguments in the form of the slow log.
func excerpts(args [][]byte) (kept []string) {
	for i, a := range args {
		if i == slowArgs-1 && len(args) > slowArgs {
			return append(kept, fmt.Sprintf("... (%d more arguments)", len(args)-i))
		}
		if len(a) > slowArgBytes {
			kept = append(kept, fmt.Sprintf("%s... (%d more bytes)", a[:slowArgBytes], len(a)-slowArgBytes))
			continue
		}
		kept = append(kept, string(a))
	}
	return kept
}
