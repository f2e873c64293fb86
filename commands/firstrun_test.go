package commands

import (
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/scripts"
)

// TestFirstRuns: while the first run of a script is under way, other first runs get a sixteenth of
// the full budget, also those of other nodes. Scripts that have run and runs that only look are not
// affected.
func TestFirstRuns(t *testing.T) {
	const full, share = 1_600_000, 100_000
	e := engine.New(engine.Options{Commands: scripts.Commands{}})
	clock := backend.NewTestClock(testStart)
	h := &scriptHost{engine: func() *engine.Engine { return e }, leads: func() bool { return true }, budget: newScriptBudget(full, clock)}
	var first engine.Batch
	add := func(b *engine.Batch, modes scripts.Modes, text string) int64 {
		if err := h.opEval(modes)(b, [][]byte{[]byte("EVAL"), []byte(text), []byte("0")}); err != nil {
			t.Fatal(err)
		}
		return scripts.StepsOf(&b.Calls[len(b.Calls)-1])
	}
	check := func(name string, got, want int64) {
		if got != want {
			t.Errorf("%s gets %d steps, want %d", name, got, want)
		}
	}
	check("the first script", add(&first, 0, "return redis.call('INCR', 'k1')"), full)
	check("the same in another batch", add(new(engine.Batch), 0, "return redis.call('INCR', 'k1')"), share)
	check("the same in its batch", add(&first, 0, "return redis.call('INCR', 'k1')"), share)
	check("another script", add(new(engine.Batch), 0, "return redis.call('INCR', 'k2')"), share)
	check("one that only looks", add(new(engine.Batch), scripts.Looks, "return redis.call('INCR', 'k3')"), full)
	e.Apply(testStart, &first)
	check("a script that has run", add(new(engine.Batch), 0, "return redis.call('INCR', 'k1')"), full)

	var other engine.Batch // of another node, which asks for full budgets
	node := &scriptHost{engine: h.engine, leads: func() bool { return false }, budget: newScriptBudget(full, clock)}
	for range 2 {
		if err := node.opEval(0)(&other, [][]byte{[]byte("EVAL"), []byte("return redis.call('INCR', 'k4')"), []byte("0")}); err != nil {
			t.Fatal(err)
		}
		other.Runs = 0
	}
	h.review(&other)
	check("the first script of another node", scripts.StepsOf(&other.Calls[0]), full)
	check("its second run", scripts.StepsOf(&other.Calls[1]), share)
	check("one here", add(new(engine.Batch), 0, "return redis.call('INCR', 'k5')"), share)
	clock.Advance(firstRunLost)
	check("one after a run that was lost", add(new(engine.Batch), 0, "return redis.call('INCR', 'k5')"), full)
}
