package commands

import (
	"sync"
	"time"

	"limitsrv/engine"
)

// A scriptRun describes a run that is added to a batch.
type scriptRun struct {
	name     []byte // the script's hash, or a function's name; nil: it is not known, and will fail
	function bool
	looks    bool  // it can change nothing
	longest  int64 // steps of the longest run so far, 0 before the first
}

// firstRunLost is the time after which a first run is no longer expected to end: a node did not
// carry it out, or does not count it.
const firstRunLost = time.Second

// firstRuns notes which first run of a script may still be under way. Concurrency: any goroutine.
type firstRuns struct {
	mu       sync.Mutex
	name     string // as in scriptRun; empty: none
	function bool
	at       engine.Instant
}

// sharesBudget reports whether a run is a first one while another is under way: then it gets a
// part of the full budget, so that new endless scripts of many clients do not each take all of it
// before the first has shown how heavy they are. Runs that only look are not counted, because
// others need not wait for them in the log.
func (h *scriptHost) sharesBudget(r scriptRun) bool {
	if r.longest > 0 || r.looks || r.name == nil || h.engine == nil || !h.leads() {
		return false
	}
	f, now := &h.firsts, h.budget.clock.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.name != "" && time.Duration(now-f.at) < firstRunLost && h.mayRun(f) {
		return true
	}
	f.name, f.function, f.at = string(r.name), r.function, now
	return false
}

// mayRun reports whether a first run may be under way: its script has not run, and its function is
// still there.
func (h *scriptHost) mayRun(f *firstRuns) bool {
	name := []byte(f.name)
	return h.longest(name, f.function) == 0 && (!f.function || h.function(name) != nil)
}
