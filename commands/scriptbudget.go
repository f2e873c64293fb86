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
	budgetRegained = time.Minute
	// budgetsOwed bounds the heavy steps that are regained before scripts get full budgets
	// again, in full budgets.
	budgetsOwed = 3
	// batchRuns is the number of runs in a batch that get the steps of a ladder: all further
	// ones, which only a transaction has, get overSteps; while scripts are heavy, none.
	batchRuns = 64
	overSteps = 1000
	// leastSteps is the end of the ladder while scripts are heavy.
	leastSteps = 500
	// firstShare is the part of the full budget, one over it, for a new script while the first run
	// of another, or of itself, is under way.
	firstShare = 16
)

// A rung is a budget, and its form in scripts.Steps.
type rung struct {
	steps int64
	form  []byte
}

func newRung(steps int64) rung { return rung{steps, scripts.Steps(steps)} }

// A ladder has the budgets of the runs of a batch: each gets half of the one before, but not
// less than the last. So all of them together are bounded.
type ladder struct {
	rungs []rung
	over  rung // beyond batchRuns
}

// newLadder requires least <= steps.
func newLadder(steps, least, over int64) (l ladder) {
	for n := steps; n > least; n /= 2 {
		l.rungs = append(l.rungs, newRung(n))
	}
	l.rungs, l.over = append(l.rungs, newRung(least)), newRung(min(over, least))
	return l
}

// at returns the budget of run n of a batch, from 0.
func (l *ladder) at(n int) rung {
	if n >= batchRuns {
		return l.over
	}
	return l.rungs[min(n, len(l.rungs)-1)]
}

// A scriptBudget gives runs of scripts their budgets: from the full one on, unless the scripts
// of this node have taken too many heavy steps lately; then from scripts.LightSteps on, so that
// others need not wait for long. Concurrency: any goroutine. Cost: an atomic read while scripts
// are light.
type scriptBudget struct {
	full, light ladder
	share       rung  // see firstShare
	steps       int64 // of full
	clock       backend.Clock

	calm atomic.Int64 // the heavy steps when none were owed; -1: unknown

	mu   sync.Mutex
	at   engine.Instant // of left; 0: never
	seen int64          // heavy steps until then
	left int64          // at most steps; not positive: runs get light
}

func newScriptBudget(steps int64, clock backend.Clock) *scriptBudget {
	light := min(steps, scripts.LightSteps)
	b := &scriptBudget{full: newLadder(steps, light, overSteps), light: newLadder(light, min(light, leastSteps), 0), share: newRung(max(light, steps/firstShare)), steps: steps, clock: clock, left: steps}
	b.calm.Store(-1)
	return b
}

// next adds a run to a batch and returns its budget, in the form of scripts.Steps, which the
// caller must not change. heavy is the result of Engine.HeavySteps, and longest the number of
// steps of the longest run of the script, 0 before the first. The batch is closed if another
// such run could get too little in it. It is slow if scripts are heavy and this one is new, or has
// already taken as many steps as it gets. shared is set for a new script that is not the only
// one, see firstShare.
func (b *scriptBudget) next(batch *engine.Batch, heavy, longest int64, shared bool) []byte {
	l := b.ladder(heavy)
	got, following := l.at(batch.Runs), l.at(batch.Runs+1)
	if shared && got.steps > b.share.steps {
		got = b.share
	}
	batch.Runs++
	batch.Closed = batch.Closed || batch.Runs >= batchRuns || longest == 0 || following.steps < 2*longest
	batch.Slow = batch.Slow || l == &b.light && mayEndAt(got.steps, longest)
	return got.form
}

// mayEndAt reports whether a run of a script may end at a budget. longest is as for next.
func mayEndAt(steps, longest int64) bool { return longest == 0 || longest >= steps }

// review is next for a run in a batch of another node, which has asked for a budget in steps. It
// returns the budget to set, or nil if the run keeps the one it has. A script with short runs gets
// twice the steps of the longest at least, because the batch cannot be divided.
func (b *scriptBudget) review(batch *engine.Batch, heavy, longest, asked int64, shared bool) []byte {
	l := b.ladder(heavy)
	got := l.at(batch.Runs)
	batch.Runs++
	if l == &b.full {
		if shared && asked > b.share.steps {
			return b.share.form
		}
		return nil
	}
	if enough := min(2*longest, b.light.rungs[0].steps); longest < b.light.rungs[0].steps && enough > got.steps {
		got = newRung(enough)
	}
	batch.Slow = batch.Slow || mayEndAt(got.steps, longest)
	if asked <= got.steps {
		return nil
	}
	return got.form
}

// unknownHeavy is the number of heavy steps of a node that has no engine to count them.
const unknownHeavy = -1

// ladder returns the budgets of the next batch.
func (b *scriptBudget) ladder(heavy int64) *ladder {
	if heavy == unknownHeavy || heavy == b.calm.Load() {
		return &b.full
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
		return &b.full
	}
	return &b.light
}
