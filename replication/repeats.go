package replication

import (
	"sync"
	"time"
)

// repeats remembers what was told lately. Many may use it at once.
type repeats struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// maxRepeats is how much is remembered; then all is forgotten.
const maxRepeats = 1024

func newRepeats() *repeats { return &repeats{last: make(map[string]time.Time)} }

// first says whether what has not been told in the last quietFor, and notes that it
// is told now.
func (r *repeats) first(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if at, ok := r.last[what]; ok && now.Sub(at) < quietFor {
		return false
	}
	if len(r.last) >= maxRepeats {
		clear(r.last)
	}
	r.last[what] = now
	return true
}
