package replication

import (
	"sync"
	"time"
)

// A logLimiter limits how often the same event is logged. Concurrency: any goroutine.
type logLimiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// logInterval is the time for which the same event is not logged again.
const logInterval = 30 * time.Second

// maxLoggedKeys bounds the remembered keys; beyond it all are dropped.
const maxLoggedKeys = 1024

func newLogLimiter() *logLimiter { return &logLimiter{last: make(map[string]time.Time)} }

// first reports whether key was not logged within the last logInterval, and notes that it
// is logged now.
func (r *logLimiter) first(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if at, ok := r.last[key]; ok && now.Sub(at) < logInterval {
		return false
	}
	if len(r.last) >= maxLoggedKeys {
		clear(r.last)
	}
	r.last[key] = now
	return true
}
