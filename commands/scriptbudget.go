package commands

import (
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/scripts"
)

const (
	// budgetRegained is the time in which a node regains one full budget for heavy steps.
	budgetRegained = 20 * time.Second
	// budgetsOwed bounds the heavy steps that are regained before scripts get full budgets
	// again, in full budgets.
	budgetsOwed = 3
)

// A scriptBudget gives runs of scripts their budgets, in the form of scripts.Steps: the full
// one, unless the scripts of this node have taken too many heavy steps lately; then
// scripts.LightSteps, so that others need not wait for long. Concurrency: any goroutine. Cost:
// an atomic read while scripts are light.
type scriptBudget struct {
	full, light []byte
	steps       int64 // of full
	clock       backend.Clock

	calm atomic.Int64 // the heavy steps when none were owed; -1: unknown

	mu   sync.Mutex
	at   engine.Instant // of left; 0: never
	seen int64          // heavy steps until then
	left int64          // at most steps; not positive: runs get light
}

func newScriptBudget(steps int64, clock backend.Clock) *scriptBudget {
	b := &scriptBudget{full: scripts.Steps(steps), light: scripts.Steps(min(steps, scripts.LightSteps)), steps: steps, clock: clock, left: steps}
	b.calm.Store(-1)
	return b
}

// next returns the budget of a run, from Engine.HeavySteps. The caller must not change it.
func (b *scriptBudget) next(heavy int64) []byte {
	if heavy == b.calm.Load() {
		return b.full
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if b.at == 0 || heavy < b.seen { // a recovery, or a new engine, does not count
		b.at, b.seen = now, heavy
	}
	regained := min(max(0, float64(now-b.at)/float64(budgetRegained)), budgetsOwed+1) * float64(b.steps)
	b.left = min(b.left+int64(regained), b.steps)
	if b.left == b.steps && heavy == b.seen {
		b.calm.Store(heavy)
	}
	b.left = max(b.left-(heavy-b.seen), -budgetsOwed*b.steps)
	b.at, b.seen = now, heavy
	if b.left > 0 {
		return b.full
	}
	return b.light
}
