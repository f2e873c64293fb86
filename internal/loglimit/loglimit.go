// Package loglimit limits how often an event is logged, in bounded memory. The caller
// names events by a key and drops repetitions without counting them.
package loglimit

import (
	"sync"
	"time"
)

// A Limiter permits one log line per interval for each key. Concurrency: any goroutine.
type Limiter[K comparable] struct {
	interval time.Duration
	most     int
	whenFull Policy

	mu   sync.Mutex
	last map[K]time.Time // time of the last line
}

// A Policy applies to a new key if a [Limiter] remembers as many keys as it may, all of
// them logged within the interval.
type Policy uint8

const (
	// Forget clears the memory: the new key is logged, and all other keys may be logged
	// again. It is for keys that only this process chooses.
	Forget Policy = iota
	// Suppress does not log the new key. It is for keys that clients choose, since they
	// could otherwise cause any number of lines.
	Suppress
)

// New makes a Limiter that remembers at most `most` keys. Requires: most is more than 0.
func New[K comparable](interval time.Duration, most int, whenFull Policy) *Limiter[K] {
	return &Limiter[K]{interval: interval, most: most, whenFull: whenFull, last: make(map[K]time.Time)}
}

// Allow reports whether to log the event key now: there was no line about it within the
// interval, and the Policy does not suppress it. The caller must log it then.
func (l *Limiter[K]) Allow(key K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if last, ok := l.last[key]; ok && now.Sub(last) < l.interval {
		return false
	}
	if len(l.last) >= l.most && !l.makeRoom(now) {
		return false
	}
	l.last[key] = now
	return true
}

// makeRoom removes the keys that were last logged an interval ago or earlier, and applies
// the Policy if no key is that old. It reports whether there is room for another key.
// Requires: mu is held.
func (l *Limiter[K]) makeRoom(now time.Time) bool {
	for key, last := range l.last {
		if now.Sub(last) >= l.interval {
			delete(l.last, key)
		}
	}
	if len(l.last) >= l.most && l.whenFull == Forget {
		clear(l.last)
	}
	return len(l.last) < l.most
}
