package commands

import (
	"bytes"
	varint "encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// TestScriptBudget: heavy scripts are followed by runs with less than the full budget, until
// the node has regained some.
func TestScriptBudget(t *testing.T) {
	const steps = 1_000_000
	clock := backend.NewTestClock(testStart)
	b, heavy := newScriptBudget(steps, clock), int64(77) // of a recovery
	full := func() bool { return bytes.Equal(b.next(new(engine.Batch), heavy, 0), scripts.Steps(steps)) }
	if !full() {
		t.Error("the first script gets less than the full budget")
	}
	heavy += steps / 2
	if !full() {
		t.Error("a script of half the budget is followed by less than the full budget")
	}
	heavy += 10 * steps
	if full() {
		t.Error("ten scripts that take the budget are followed by the full one")
	}
	clock.Advance(budgetsOwed*budgetRegained - time.Second)
	if full() {
		t.Error("the full budget comes back too soon")
	}
	clock.Advance(2 * time.Second)
	if !full() {
		t.Error("the full budget does not come back")
	}
	clock.Advance(time.Hour)
	if !full() || b.calm.Load() != heavy {
		t.Error("the node does not become calm")
	}
	heavy = 5 // another engine
	if !full() {
		t.Error("a new engine begins with less than the full budget")
	}
}

// TestScriptBudgetSmall: a full budget below the light budget holds.
func TestScriptBudgetSmall(t *testing.T) {
	b := newScriptBudget(100, backend.NewTestClock(testStart))
	b.next(new(engine.Batch), 0, 0)
	if got := b.next(new(engine.Batch), 1e9, 0); !bytes.Equal(got, scripts.Steps(100)) {
		t.Errorf("the budget is %x", got)
	}
}

// TestScriptBudgetOfBatch: the runs of a batch get less and less, so that a transaction of any
// length has a bounded budget; in a pipeline a new batch begins before a run could get too little.
func TestScriptBudgetOfBatch(t *testing.T) {
	const steps = 1_000_000
	for _, tt := range []struct {
		name  string
		heavy int64
		most  int64 // all runs of a transaction
		first int64
		least int64 // the runs that follow the first, up to batchRuns
	}{
		{"calm", 0, 2*steps + batchRuns*scripts.LightSteps + 10_000*overSteps, steps, scripts.LightSteps},
		{"heavy", 10 * steps, 2*scripts.LightSteps + batchRuns*leastSteps, scripts.LightSteps, leastSteps},
	} {
		b := newScriptBudget(steps, backend.NewTestClock(testStart))
		b.next(new(engine.Batch), 0, 0)
		next := func(batch *engine.Batch, longest int64) int64 {
			got, _ := varint.Uvarint(b.next(batch, tt.heavy, longest))
			return int64(got)
		}
		var transaction engine.Batch
		total := int64(0)
		for i := range 10_000 {
			got := next(&transaction, 0)
			if total += got; i == 0 && got != tt.first || i < batchRuns && got < tt.least {
				t.Errorf("%s: run %d of a transaction gets %d steps", tt.name, i, got)
			}
		}
		if total > tt.most {
			t.Errorf("%s: a transaction gets %d steps, want at most %d", tt.name, total, tt.most)
		}
		for _, longest := range []int64{1, 300, 900, 4000, 15_000, steps} {
			var batch engine.Batch
			for batch.Runs == 0 || !batch.Closed {
				if got := next(&batch, longest); batch.Runs > 1 && got < 2*longest {
					t.Errorf("%s: run %d of a pipeline gets %d steps, and has taken %d", tt.name, batch.Runs, got, longest)
				}
			}
			if batch.Runs > batchRuns || longest == 1 && batch.Runs < batchRuns {
				t.Errorf("%s: a batch of runs of %d steps has %d", tt.name, longest, batch.Runs)
			}
		}
	}
}

// TestSlowBatches: a run is slow if scripts are heavy, and it is new or may end at its budget.
func TestSlowBatches(t *testing.T) {
	const steps = 1_000_000
	b := newScriptBudget(steps, backend.NewTestClock(testStart))
	b.next(new(engine.Batch), 0, 0)
	for _, tt := range []struct {
		name           string
		heavy, longest int64
		before         int // runs in the batch
		want           bool
	}{
		{"a new script of a calm node", 0, 0, 0, false},
		{"an endless one of a calm node", 0, steps, 0, false},
		{"a new script", 10 * steps, 0, 0, true},
		{"a script below its budget", 10 * steps, scripts.LightSteps - 1, 0, false},
		{"an endless script", 10 * steps, scripts.LightSteps, 0, true},
		{"an endless script known by its half budget", 10 * steps, scripts.LightSteps / 2, 1, true},
		{"a script below the half budget", 10 * steps, scripts.LightSteps/2 - 1, 1, false},
	} {
		batch := engine.Batch{Runs: tt.before}
		if b.next(&batch, tt.heavy, tt.longest); batch.Slow != tt.want {
			t.Errorf("%s: slow is %v, want %v", tt.name, batch.Slow, tt.want)
		}
	}
}

// TestEndlessScripts: endless scripts end at the full budget at first, and then sooner; short
// scripts are not affected.
func TestEndlessScripts(t *testing.T) {
	s := newTestHandlerWith(session.Config{ScriptSteps: 200_000}).NewSession(session.Client{})
	run := func(text string) string {
		s.Do([][]byte{[]byte("EVAL"), []byte(text), []byte("0")})
		return ask(s)
	}
	const endless = "while true do end"
	if got := run(endless); !strings.Contains(got, " 200000 steps") {
		t.Errorf("the first ends with %q", got)
	}
	for range 4 {
		run(endless)
	}
	if got, want := run(endless), fmt.Sprintf(" %d steps", scripts.LightSteps); !strings.Contains(got, want) {
		t.Errorf("after some others it ends with %q, want %q in it", got, want)
	}
	if got := run("for i = 1, 1000 do end return 1"); got != ":1|" {
		t.Errorf("a short script answers %q", got)
	}
}

// TestScriptBudgetBesideOthers: while runs are in flight, further runs get sixteen times the
// longest run of their script, or a sixty-fourth of the full budget, and all together a bounded
// number of steps beyond light steps.
func TestScriptBudgetBesideOthers(t *testing.T) {
	const steps, light = 64 << 20, int64(scripts.LightSteps)
	const usual = steps / usualShare
	for _, tt := range []struct {
		name             string
		granted, longest int64
		before           int   // runs in the batch
		own              int64 // Batch.Granted of these
		want             int64 // at least half of it, and no more
	}{
		{"alone", 0, 100, 0, 0, steps},
		{"alone, second of its batch", 0, 100, 1, steps, steps / 2},
		{"a new script", steps, 0, 0, 0, usual},
		{"a short script", steps, 100, 0, 0, usual},
		{"a longer script", steps, usual / 2, 0, 0, usual / 2 * usualRuns},
		{"a long script", steps, steps / 2, 0, 0, steps},
		{"a long script and little left", budgetsInFlight*steps - 2*usual, steps / 2, 0, 0, 2 * usual},
		{"a long script and little left beside its own batch", budgetsInFlight*steps - 4*usual, steps / 2, 1, 2 * usual,
			2 * usual},
		{"nothing left", budgetsInFlight * steps, steps / 2, 0, 0, light},
		{"less than nothing left", 2 * budgetsInFlight * steps, steps / 2, 0, 0, light},
		{"a light budget", steps, 100, batchRuns - 1, 0, light},
	} {
		b := newScriptBudget(steps, backend.NewTestClock(testStart))
		b.inFlight = func() int64 { return tt.granted }
		batch := engine.Batch{Runs: tt.before, Granted: tt.own}
		got, _ := varint.Uvarint(b.next(&batch, 0, tt.longest))
		if int64(got) > tt.want || int64(got) < max(tt.want/2, light) {
			t.Errorf("%s: got %d steps, want %d", tt.name, got, tt.want)
		}
		if granted := batch.Granted - tt.own; granted != max(0, int64(got)-light) {
			t.Errorf("%s: %d steps count as granted, got %d", tt.name, granted, got)
		}
		if tt.before > 0 {
			continue // the ladder of a forwarded batch is the other node's
		}
		forwarded, reviewed := engine.Batch{Granted: tt.own}, uint64(steps)
		if form := b.review(&forwarded, 0, tt.longest, steps); form != nil {
			reviewed, _ = varint.Uvarint(form)
		}
		if reviewed != got || forwarded.Granted != batch.Granted {
			t.Errorf("%s: by way of another node it gets %d steps, and %d count as granted, want %d and %d", tt.name, reviewed,
				forwarded.Granted, got, batch.Granted)
		}
	}
}

// TestGrantsInFlight: steps count as granted from the moment a batch is executed until it is
// answered, for batches of this node's clients and of other nodes, also if it is answered with an
// error.
func TestGrantsInFlight(t *testing.T) {
	const steps = 64 << 20
	c, exec := newFakeCluster(status.Leader), new(inFlight)
	h := newTestHandlerWith(session.Config{ScriptSteps: steps, Cluster: c})
	h.Executor().Exec = exec
	granted := func(where string, want int64) {
		t.Helper()
		if got := h.Granted(); got != want {
			t.Errorf("%s: %d steps are granted, want %d", where, got, want)
		}
	}
	const beyond = steps - scripts.LightSteps
	s := h.NewSession(session.Client{Wake: func() {}})
	s.Do([][]byte{[]byte("EVAL"), []byte("return 1"), []byte("0")})
	granted("gathered", 0)
	s.Flush()
	granted("executed", beyond)
	var b engine.Batch
	scripts.SetRun(b.AddCall(0), 0, scripts.Steps(steps), []byte(fakeNodeID("7")), [][]byte{[]byte("0")})
	answer := c.review(&b, func(error) {})
	usual := scripts.StepsOf(&b.Calls[0])
	if usual != steps/usualShare {
		t.Errorf("the run of another node gets %d steps", usual)
	}
	granted("beside that of another node", beyond+usual-scripts.LightSteps)
	answer(errors.New("no leader"))
	granted("after that of another node", beyond)
	exec.done[0](errors.New("no leader"))
	granted("after all", 0)
	s.Resume()
	ask(s, "EVAL return(1) 0")
	granted("executed again", beyond)
	s.Close()
	exec.done[1](nil)
	granted("answered after the session's end", 0)
}

// inFlight is an Exec that leaves its batches in flight.
type inFlight struct{ done []func(error) }

func (f *inFlight) Commit()                                {}
func (f *inFlight) Exec(_ *engine.Batch, done func(error)) { f.done = append(f.done, done) }
