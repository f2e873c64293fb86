package replication

import (
	"sync"
	"time"
)

// repeats remembers what was told lately. Many may use it at once.
type logLimiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// maxRepeats is how much is remembered; then all is forgotten.
const maxLoggedKeys = 1024

func newLogLimiter() *logLimiter { return &logLimiter{last: make(map[string]time.Time)} }

// first says whether what has not been told in the last quietFor, and notes that it
// is told now.
func (r *logLimiter) first(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if at, ok := r.last[what]; ok && now.Sub(at) < logInterval {
		return false
	}
	if len(r.last) >= maxLoggedKeys {
		clear(r.last)
	}
	r.last[what] = now
	return true
}
