package commands

import (
	"testing"
	"time"

	"limitsrv/commands/session"
)

func TestWaitsAreOfOps(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{Wake: func() {}})
	before := h.Stats().Waits()
	ask(s, "RL.TOKEN a 5 1", "PING", "RL.TOKEN b 5 1", "RL.ALL TOKEN a 5 1 1 TOKEN b 5 1 1", "RL.TOKEN a", "DEL a b c")
	all := h.Stats().Waits().Since(before)
	if n := all.Total(); n != 7 {
		t.Errorf("%d ops waited, want 7", n)
	}
	ask(s, "MULTI", "RL.TOKEN a 5 1", "RL.TOKEN b 5 1", "EXEC")
	if all = h.Stats().Waits().Since(before); all.Total() != 9 {
		t.Errorf("with a transaction %d ops waited, want 9", all.Total())
	}
	if all.Within(time.Hour) != 9 || all.Within(0) != 0 || all.Percentile(1000) <= 0 || all.Sum() <= 0 {
		t.Errorf("within an hour %d of them, at once %d, at most %v, in all %v", all.Within(time.Hour), all.Within(0),
			all.Percentile(1000), all.Sum())
	}
	ask(s, "CONFIG RESETSTAT")
	if all = h.Stats().Waits().Since(before); all.Total() != 9 {
		t.Errorf("CONFIG RESETSTAT leaves %d", all.Total())
	}
}

func TestCommandCountsAreOfWhatWasCalled(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{Wake: func() {}})
	ask(s, "RL.TOKEN a 5 1", "RL.TOKEN a -1 1", "RL.TOKEN a", "PING", "NOTHING")
	counts := h.CommandCounts()
	want := []session.CommandCount{{Name: "ping", Calls: 1}, {Name: "rl.token", Calls: 2, Failed: 1, Rejected: 1}}
	if len(counts) != 2 {
		t.Fatalf("%v were called, want %v", counts, want)
	}
	for _, w := range want {
		if counts[0] != w && counts[1] != w {
			t.Errorf("there is no %v in %v", w, counts)
		}
	}
	if errs := h.Stats().Errors(); errs["ERR"] != 3 || len(errs) != 1 {
		t.Errorf("errors are %v, want 3 ERR", errs)
	}
}
