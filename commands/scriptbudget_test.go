package commands

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/scripts"
)

// TestScriptBudget: heavy scripts are followed by runs with less than the full budget, until
// the node has regained some.
func TestScriptBudget(t *testing.T) {
	const steps = 1_000_000
	clock := backend.NewTestClock(testStart)
	b, heavy := newScriptBudget(steps, clock), int64(77) // of a recovery
	full := func() bool { return bytes.Equal(b.next(heavy), b.full) }
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

// TestScriptBudgetSmall: a full budget below the light one holds.
func TestScriptBudgetSmall(t *testing.T) {
	b := newScriptBudget(100, backend.NewTestClock(testStart))
	b.next(0)
	if got := b.next(1e9); !bytes.Equal(got, scripts.Steps(100)) {
		t.Errorf("the budget is %x", got)
	}
}

// TestEndlessScripts: endless scripts end at the full budget at first, and then sooner; short
// ones are not affected.
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
