package commands

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the slow log, and of its entries, which are Redis'.
const (
	defaultSlower  = 10 * time.Millisecond
	defaultSlowLog = 128
	maxSlowLog     = 10_000
	slowArgs       = 32
	slowArgBytes   = 128

	latencySamples = 160 // of each event
)

// A slowWatch keeps what was slow: the commands of SLOWLOG and the events of
// LATENCY. Many may call at once.
type slowWatch struct {
	least atomic.Int64 // what takes fewer nanoseconds is of no interest

	mu      sync.Mutex
	slower  int64 // microseconds from which on commands are logged; negative: none
	monitor int64 // milliseconds from which on events are kept; 0: none
	most    int   // entries kept
	nextID  int64
	entries []slowEntry // oldest first
	events  map[string]*latencyEvent
}

// A slowEntry is a command of the slow log.
type slowEntry struct {
	id         int64
	at, micros int64 // seconds since 1970, and how long it took
	args       []string
	addr, name string
}

// A latencyEvent is what LATENCY tells about commands of a kind.
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

// updateThreshold works least out. mu is held, or nobody else knows of w.
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

// set changes what is kept.
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

// note keeps a command that took nanos, if that is long enough.
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

// excerpts are arguments as the slow log keeps them.
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
