package commands

import (
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/scripts"
	"limitsrv/engine"
)

const (
	// budgetRegained is the time until a node regains a full budget for heavy steps.
	budgetRegained = time.Minute
	// budgetsOwed bounds the heavy steps that are regained before scripts get full budgets
	// again, in full budgets.
	budgetsOwed = 3
	// batchRuns is the number of runs in a batch that get the steps of a ladder: all further
	// runs, which only a transaction has, get overSteps; while scripts are heavy, no steps.
	batchRuns = 64
	overSteps = 1000
	// leastSteps is the end of the ladder while scripts are heavy.
	leastSteps = 500
	// budgetsInFlight bounds the steps beyond scripts.LightSteps that runs in flight may take
	// together, in full budgets. Because no run is known to be long before it has run, the budgets
	// of many at once must not add up.
	budgetsInFlight = 4
	// A run beside other runs in flight gets at least the full budget divided by usualShare,
	// and usualRuns times the longest run of its script is another bound: it gets the greater
	// of the two, as far as budgetsInFlight allows.
	usualShare = 64
	usualRuns  = 16
)

// A rung is a budget, and its form in scripts.Steps.
type rung struct {
	steps int64
	form  []byte
}

func newRung(steps int64) rung { return rung{steps, scripts.Steps(steps)} }

// A ladder has the budgets of the runs of a batch: each gets half of the budget before, but
// not less than the last. So all of them together are bounded.
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

// within returns the greatest budget of the ladder that is at most steps, or the least
// budget.
func (l *ladder) within(steps int64) rung {
	for _, r := range l.rungs {
		if r.steps <= steps {
			return r
		}
	}
	return l.rungs[len(l.rungs)-1]
}

// A scriptBudget gives runs of scripts their budgets: from the full budget on, unless the
// scripts of this node have taken too many heavy steps lately; then from scripts.LightSteps on,
// so that other clients need not wait for long. Runs beside other runs in flight get less, see
// budgetsInFlight. Concurrency: any goroutine. Cost: two atomic reads while scripts are light.
type scriptBudget struct {
	full, light ladder
	steps       int64 // of full
	clock       backend.Clock
	inFlight    func() int64 // the sum of Batch.Granted of all batches that are being executed

	calm atomic.Int64 // the heavy steps when no steps were owed; -1: unknown

	mu   sync.Mutex
	at   engine.Instant // of left; 0: never
	seen int64          // heavy steps until then
	left int64          // at most steps; not positive: runs get light
}

func newScriptBudget(steps int64, clock backend.Clock) *scriptBudget {
	light := min(steps, scripts.LightSteps)
	b := &scriptBudget{
		full: newLadder(steps, light, overSteps), light: newLadder(light, min(light, leastSteps), 0),
		steps: steps, clock: clock, left: steps, inFlight: func() int64 { return 0 },
	}
	b.calm.Store(-1)
	return b
}

// next adds a run to a batch and returns its budget, in the form of scripts.Steps, which the
// caller must not change. heavy is the result of Engine.HeavySteps, and longest the number of
// steps of the longest run of the script, 0 before the first. The batch is closed if another such
// run could get too little in it. It is slow if scripts are heavy and this run is new, or has
// already taken as many steps as it gets.
func (b *scriptBudget) next(batch *engine.Batch, heavy, longest int64) []byte {
	l := b.ladder(heavy)
	got, following := b.besideOthers(batch, l, l.at(batch.Runs), longest), l.at(batch.Runs+1)
	batch.Runs++
	batch.Granted += b.beyondLight(got)
	batch.Closed = batch.Closed || batch.Runs >= batchRuns || longest == 0 || following.steps < 2*longest
	batch.Slow = batch.Slow || l == &b.light && mayEndAt(got.steps, longest)
	return got.form
}

// besideOthers returns the budget of the next run of a batch: alone if no batch is in flight, else
// perhaps less, by a ladder. longest is as for next.
func (b *scriptBudget) besideOthers(batch *engine.Batch, l *ladder, alone rung, longest int64) rung {
	granted := b.inFlight()
	if granted == 0 || b.beyondLight(alone) == 0 {
		return alone
	}
	left := budgetsInFlight*b.steps - granted - batch.Granted
	if got := l.within(min(left, max(b.steps/usualShare, usualRuns*longest))); got.steps < alone.steps {
		return got
	}
	return alone
}

// beyondLight returns the steps of a budget that only a heavy run takes.
func (b *scriptBudget) beyondLight(r rung) int64 { return max(0, r.steps-b.light.rungs[0].steps) }

// mayEndAt reports whether a run of a script may end at a budget. longest is as for next.
func mayEndAt(steps, longest int64) bool { return longest == 0 || longest >= steps }

// review is next for a run in a batch of another node, which has asked for a budget in steps. It
// returns the budget to set, or nil if the run keeps its budget. While scripts are heavy, a script
// with short runs gets twice the steps of the longest at least, because the batch cannot be
// divided.
func (b *scriptBudget) review(batch *engine.Batch, heavy, longest, asked int64) []byte {
	l, own := b.ladder(heavy), rung{steps: asked}
	got := own
	if l == &b.full {
		got = b.besideOthers(batch, l, own, longest)
	} else {
		got = l.at(batch.Runs)
		if enough := min(2*longest, b.light.rungs[0].steps); longest < b.light.rungs[0].steps && enough > got.steps {
			got = newRung(enough)
		}
		batch.Slow = batch.Slow || mayEndAt(got.steps, longest)
	}
	batch.Runs++
	if asked <= got.steps {
		batch.Granted += b.beyondLight(own)
		return nil
	}
	batch.Granted += b.beyondLight(got)
	return got.form
}

// mayCompile charges the steps of compiling a text to this node. It returns false, and charges
// nothing, if the steps exceed the light budget of a run while scripts are heavy.
func (b *scriptBudget) mayCompile(e *engine.Engine, steps int64) (ok bool) {
	if steps <= b.light.rungs[0].steps {
		return true
	}
	if b.ladder(e.HeavySteps()) == &b.light {
		return false
	}
	e.AddHeavy(steps - b.light.rungs[0].steps)
	return true
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
