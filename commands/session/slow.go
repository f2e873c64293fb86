package session

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the slow log and of its entries, equal to Redis'.
const (
	defaultSlower  = 10 * time.Millisecond
	defaultSlowLog = 128
	MaxSlowLog     = 10_000
	slowArgs       = 32
	slowArgBytes   = 128

	latencySamples = 160 // of each event
)

// A SlowLog holds the commands of SLOWLOG and the events of LATENCY. Any number of
// goroutines may use it.
type SlowLog struct {
	least atomic.Int64 // threshold in nanoseconds; nothing below it is recorded

	mu      sync.Mutex
	bounds  SlowBounds
	nextID  int64
	entries []SlowEntry // oldest first
	events  map[string]*LatencyEvent
}

// SlowBounds are the settings of a SlowLog.
type SlowBounds struct {
	Slower  int64 // threshold of the slow log in microseconds; negative: off
	Monitor int64 // threshold of latency events in milliseconds; 0: off
	Most    int   // maximum number of entries, at most MaxSlowLog
}

// A SlowEntry is an entry of the slow log.
type SlowEntry struct {
	ID         int64
	At, Micros int64 // time in seconds since 1970, and duration
	Args       []string
	Addr, Name string // of the client
}

// A LatencyEvent holds the samples of LATENCY for a kind of command.
type LatencyEvent struct {
	Name    string
	Samples []LatencySample // oldest first; at most one sample a second
	Max     int64           // milliseconds
}

// A LatencySample is a duration at a time in seconds since 1970.
type LatencySample struct{ At, Millis int64 }

func newSlowLog() *SlowLog {
	w := &SlowLog{bounds: SlowBounds{Slower: defaultSlower.Microseconds(), Most: defaultSlowLog},
		events: map[string]*LatencyEvent{}}
	w.updateThreshold()
	return w
}

// updateThreshold recomputes least. Requires: mu is held, or w is not shared yet.
func (w *SlowLog) updateThreshold() {
	least := int64(math.MaxInt64)
	if w.bounds.Slower >= 0 {
		least = w.bounds.Slower * 1000
	}
	if w.bounds.Monitor > 0 {
		least = min(least, w.bounds.Monitor*1_000_000)
	}
	w.least.Store(least)
}

// Bounds returns the bounds.
func (w *SlowLog) Bounds() SlowBounds {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bounds
}

// SetBounds changes the bounds, and drops the oldest entries that are too many.
func (w *SlowLog) SetBounds(change func(*SlowBounds)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.bounds)
	w.trim()
	w.updateThreshold()
}

// Len returns the number of entries.
func (w *SlowLog) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.entries)
}

// Newest returns copies of the newest entries, the newest first: count, or all if count
// is negative.
func (w *SlowLog) Newest(count int64) []SlowEntry {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.entries)
	slices.Reverse(all)
	if count >= 0 && count < int64(len(all)) {
		all = all[:count]
	}
	return all
}

// Reset deletes all entries.
func (w *SlowLog) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = nil
}

// Events returns copies of the events, by name.
func (w *SlowLog) Events() []LatencyEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []LatencyEvent
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		e := *w.events[name]
		e.Samples = slices.Clone(e.Samples)
		all = append(all, e)
	}
	return all
}

// ResetEvents deletes the given events, all if no name is given, and returns their
// number.
func (w *SlowLog) ResetEvents(names [][]byte) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.events)
	if len(names) == 0 {
		clear(w.events)
	}
	for _, name := range names {
		delete(w.events, string(name))
	}
	return before - len(w.events)
}

// trim drops the oldest entries beyond the maximum.
func (w *SlowLog) trim() {
	if surplus := len(w.entries) - w.bounds.Most; surplus > 0 {
		w.entries = append(w.entries[:0], w.entries[surplus:]...)
	}
}

// record records a command, fast by its flag or not, that took nanos, if that reaches a
// threshold. args are its words without secrets; addr and name are its client's.
func (w *SlowLog) record(fast bool, nanos int64, addr, name string, args [][]byte) {
	now := time.Now().Unix()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bounds.Monitor > 0 && nanos >= w.bounds.Monitor*1_000_000 {
		w.recordEvent(fast, LatencySample{now, nanos / 1_000_000})
	}
	if w.bounds.Slower < 0 || nanos < w.bounds.Slower*1000 || w.bounds.Most == 0 {
		return
	}
	w.entries = append(w.entries, SlowEntry{w.nextID, now, nanos / 1000, excerpts(args), addr, name})
	w.nextID++
	w.trim()
}

func (w *SlowLog) recordEvent(fast bool, sample LatencySample) {
	name := "command"
	if fast {
		name = "fast-command"
	}
	e := w.events[name]
	if e == nil {
		e = &LatencyEvent{Name: name}
		w.events[name] = e
	}
	e.Max = max(e.Max, sample.Millis)
	if n := len(e.Samples); n > 0 && e.Samples[n-1].At == sample.At {
		e.Samples[n-1].Millis = max(e.Samples[n-1].Millis, sample.Millis)
		return
	}
	if len(e.Samples) == latencySamples {
		e.Samples = append(e.Samples[:0], e.Samples[1:]...)
	}
	e.Samples = append(e.Samples, sample)
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
