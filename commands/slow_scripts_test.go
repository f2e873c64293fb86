package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// A heavyNode is a handler with heavy scripts: an endless script has taken its budget twice.
// endless, short and middling are the hashes of known scripts; middling takes more than leastSteps
// and less than scripts.LightSteps.
type heavyNode struct {
	handler                  *session.Handler
	turns                    []func() // goroutines that serve slow batches
	endless, short, middling string
}

const endlessScript = "while true do redis.call('INCR', KEYS[1]) end"

func newHeavyNode(t *testing.T, cluster backend.Cluster) *heavyNode {
	t.Helper()
	n := new(heavyNode)
	n.handler = newTestHandlerWith(session.Config{ScriptSteps: 200_000, Cluster: cluster,
		Spawn: func(f func()) { n.turns = append(n.turns, f) }})
	s := n.handler.NewSession(session.Client{})
	load := func(text string) string {
		s.Do([][]byte{[]byte("SCRIPT"), []byte("LOAD"), []byte(text)})
		return strings.Split(ask(s), "|")[1]
	}
	n.endless, n.short, n.middling = load(endlessScript), load("return 7"), load("for i = 1, 1000 do end return 7")
	for _, hash := range []string{n.short, n.middling} {
		if got := ask(s, "EVALSHA "+hash+" 0"); got != ":7|" {
			t.Fatalf("a short script answers %q", got)
		}
	}
	for range 2 {
		if got := ask(s, "EVALSHA "+n.endless+" 1 turns"); !strings.Contains(got, " 200000 steps") {
			t.Fatalf("an endless script answers %q", got)
		}
	}
	return n
}

// TestSlowScriptsWaitForTheirTurn: while scripts are heavy, those that end at their budgets and
// those that are new wait for their turn, alone, in MULTI and in a pipeline. Nothing else waits.
func TestSlowScriptsWaitForTheirTurn(t *testing.T) {
	n := newHeavyNode(t, nil)
	others := n.handler.NewSession(session.Client{})
	for _, tt := range []struct {
		name, want string
		lines      []string
		waits      bool
	}{
		{"an endless script", "script takes more than 10000 steps", []string{"EVALSHA " + n.endless + " 1 turns"}, true},
		{"in MULTI", "script takes more than 5000 steps",
			[]string{"MULTI", "EVALSHA " + n.short + " 0", "EVALSHA " + n.endless + " 1 turns", "EXEC"}, true},
		{"in a pipeline", "|:1|-ERR script takes more than 10000 steps",
			[]string{"SET other 1", "DEL other", "EVALSHA " + n.endless + " 1 turns"}, true},
		{"a new script", ":1|", []string{"EVAL return(1) 0"}, true},
		{"which is known then", ":1|", []string{"EVAL return(1) 0"}, false},
		{"a short script", ":7|", []string{"EVALSHA " + n.short + " 0"}, false},
		{"a limit", "|:1|", []string{"RL.TOKEN k 10 10/s"}, false},
		{"a plain value", "$-1|", []string{"GET other"}, false},
	} {
		s := n.handler.NewSession(session.Client{Wake: func() {}})
		got := ask(s, tt.lines...)
		if waits := len(n.turns) == 1; waits != tt.waits {
			t.Errorf("%s: waits %v, want %v", tt.name, waits, tt.waits)
		}
		if got := ask(others, "EVALSHA "+n.short+" 0", "RL.TOKEN k 10 10/s"); !strings.HasPrefix(got, ":7|*5|") {
			t.Errorf("%s: others are answered %q meanwhile", tt.name, got)
		}
		for _, serve := range n.turns {
			serve()
			s.Resume()
			got += ask(s)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: answered %q, want %q", tt.name, got, tt.want)
		}
		n.turns = nil
	}
}

// TestLeaderHasTheTurns: a node that follows passes slow batches on at once.
func TestLeaderHasTheTurns(t *testing.T) {
	c := newFakeCluster(status.Leader)
	n := newHeavyNode(t, c)
	c.moved = "127.0.0.1:1"
	if got := ask(n.handler.NewSession(session.Client{}), "EVAL return(2) 0"); got != ":2|" || len(n.turns) > 0 {
		t.Errorf("a new script is answered %q, and %d wait for a turn", got, len(n.turns))
	}
}

// TestForwardedScripts: the runs in batches of other nodes get no more than the runs of this
// node's clients while scripts are heavy, and slow batches wait for their turn.
func TestForwardedScripts(t *testing.T) {
	c := newFakeCluster(status.Leader)
	n, calm := newHeavyNode(t, c), newFakeCluster(status.Leader)
	newTestHandlerWith(session.Config{Cluster: calm})
	const full = 200_000
	for _, tt := range []struct {
		name   string
		hashes []string
		by     *fakeCluster
		want   []int64
		waits  bool
	}{
		{"of a calm node", []string{n.endless, n.endless}, calm, []int64{full, full}, false},
		{"an endless script", []string{n.endless}, c, []int64{scripts.LightSteps}, true},
		{"many", []string{n.endless, n.endless, n.endless, n.endless, n.endless, n.endless, n.endless}, c,
			[]int64{10000, 5000, 2500, 1250, 625, 500, 500}, true},
		{"a new script", []string{fakeNodeID("7")}, c, []int64{scripts.LightSteps}, true},
		{"a short script", []string{n.short}, c, []int64{scripts.LightSteps}, false},
		{"both", []string{n.short, n.endless}, c, []int64{scripts.LightSteps, 5000}, true},
	} {
		var b engine.Batch
		for _, hash := range tt.hashes {
			scripts.SetRun(b.AddCall(0), 0, scripts.Steps(full), []byte(hash), [][]byte{[]byte("1"), []byte("turns")})
		}
		tt.by.review(&b, func(error) {})
		var got []int64
		for i := range b.Calls {
			got = append(got, scripts.StepsOf(&b.Calls[i]))
		}
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: budgets of %v steps, want %v", tt.name, got, tt.want)
		}
		if b.Slow != tt.waits {
			t.Errorf("%s: waits %v, want %v", tt.name, b.Slow, tt.waits)
		}
	}
}

// TestForwardedPipeline: the runs of a known script that is not endless get enough, however many
// the other node has put into the batch, and do not wait.
func TestForwardedPipeline(t *testing.T) {
	c := newFakeCluster(status.Leader)
	n := newHeavyNode(t, c)
	var b engine.Batch
	for range batchRuns {
		scripts.SetRun(b.AddCall(0), 0, scripts.Steps(scripts.LightSteps), []byte(n.middling), [][]byte{[]byte("0")})
	}
	if c.review(&b, func(error) {}); b.Slow {
		t.Error("the batch waits for a turn")
	}
	for i := range b.Calls {
		if got := scripts.StepsOf(&b.Calls[i]); got < 2*leastSteps {
			t.Errorf("run %d gets %d steps", i, got)
		}
	}
}
