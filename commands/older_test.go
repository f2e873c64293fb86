package commands

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// Errors of a batch, and of one command, that an older node could not read.
var (
	errNewBatch = resp.NewError("ERR", "batch")
	errNewForm  = resp.NewError("ERR", "newer")
)

// A mixedExec is the Exec of a cluster that may have an older node: then it refuses a whole batch
// because of one op that the node could not read.
type mixedExec struct {
	*backend.Local
	cluster *fakeCluster
}

func (x mixedExec) Exec(b *engine.Batch, done func(error)) {
	if x.cluster.older != nil && !b.Looks() && (isNewForm(b.Ops) || reservations.Wraps(b)) {
		done(errNewBatch)
		return
	}
	x.Local.Exec(b, done)
}

// isNewForm reports whether the log has some op only from version 4 of its entries on.
func isNewForm(ops []engine.Op) bool {
	return slices.ContainsFunc(ops, func(op engine.Op) bool {
		return (op.Kind == engine.Refund || op.Kind == engine.Charge) && op.Mode != 0 || op.Kind == engine.Needs &&
			isSettling(ops)
	})
}

// isSettling reports whether ops have a group that settles, which ends in no Take and no Acquire.
func isSettling(ops []engine.Op) bool {
	for i := range ops {
		if n := int(ops[i].Group); n > 1 {
			if last := ops[i+n-1].Kind; last != engine.Take && last != engine.Acquire {
				return true
			}
		}
	}
	return false
}

const olderRules = `domain: api
rules:
  - {name: user, per: [user], limits: [10/minute, 100/day fixed]}
  - {name: closed, per: [closed], limits: 0/minute}
  - {name: jobs, per: [job], limits: 2 at once ttl 1m}
`

// newMixed returns a server in a cluster with an older node, until older is false.
func newMixed(t *testing.T) (h *session.Handler, s *session.Session, cluster *fakeCluster) {
	cluster = newFakeCluster(status.Leader)
	eng := engine.New(engine.Options{Shards: 4, Seed: [16]byte{1}, Commands: calls.Commands})
	clock, notices := backend.NewTestClock(testStart), new(engine.Notices)
	h = NewHandler(session.Config{
		Engine: func() *engine.Engine { return eng }, Clock: clock, TestClock: clock, Notices: notices, Cluster: cluster,
		Log:  slog.New(slog.DiscardHandler),
		Exec: mixedExec{&backend.Local{Engine: eng, Clock: clock, Notices: notices}, cluster}, Version: "0",
	})
	woken := make(chan struct{}, 1)
	s = h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, s, woken, olderRules)
	cluster.older = func(b *engine.Batch, from int) error {
		if isNewForm(b.Ops[from:]) || reservations.Wraps(b) {
			return errNewForm
		}
		return nil
	}
	return h, s, cluster
}

// TestOlderNodesReadAll: while a node of the cluster is older, no command with ops makes the
// commands before and after it fail. Only options that have no older form are errors.
func TestOlderNodesReadAll(t *testing.T) {
	for _, c := range newRegistry().Specs() {
		if !c.HasOps() || c.Wait != nil {
			continue
		}
		_, s, _ := newMixed(t)
		args, _ := rightLine(c)
		line := string(bytes.Join(args, []byte(" ")))
		got := ask(s, "RL.FIXED before 5 1m", line, "RL.FIXED after 5 1m")
		newer := c.Name == "RL.REFUND" || c.Name == "RL.CHARGE" || c.Name == "RL.RESERVE" // with AGE and PARTIAL
		const took = "*5|:1|:5|:4|:0|:20000|"
		if !strings.HasPrefix(got, took) || !strings.HasSuffix(got, took) || strings.Contains(got, "-ERR newer") != newer {
			t.Errorf("%s: got %s", line, got)
		}
	}
}

// TestOlderForms checks commands that have a form which older nodes can read. While a node is older,
// the session asks for that form, and the command keeps its old meaning.
func TestOlderForms(t *testing.T) {
	for _, tt := range []struct {
		line, older, newer string
	}{
		{"RL.REFUND f 60", "*5|:1|:100|:90|:0|:10000|", ""},
		{"RL.REFUND f 0", "*5|:1|:100|:30|:0|:10000|", ""},
		{"RL.REFUND f 60 AGE 51s", "-ERR newer|", "*5|:0|:100|:30|:0|:10000|"},
		{"RL.REFUND log 60", "*5|:1|:100|:90|:0|:50000|", "*5|:1|:100|:90|:0|:60000|"},
		{"RL.CHARGE f 200", "*5|:0|:100|:30|:10000|:10000|", "*5|:0|:100|:0|:10000|:70000|"},
		{"RL.CHARGE f 20", "*5|:1|:100|:10|:0|:10000|", ""},
		{"RL.CHARGE n 20 FIXED 30 1m", "*5|:1|:30|:10|:0|:10000|", ""},
		{"RL.CHARGE n 20 FIXED 30 1m PARTIAL", "-ERR newer|", "*5|:20|:30|:10|:0|:10000|"},
		{"RL.CHARGE n 1 FIXED 0 1m", "*5|:0|:0|:0|:-1|:0|", ""},
		{"RL.FIXED f 0 1m", "*5|:0|:0|:0|:-1|:10000|", ""},
		{"RL.ALL FIXED f 100 1m 1 FIXED n 0 1m 1", "*4|:0|:1|*5|:1|:100|:30|:0|:10000|*5|:0|:0|:0|:-1|:0|", ""},
		{"RL.FIXED f 100 1m ONCE id", "-ERR newer|", "*5|:1|:100|:29|:0|:10000|"},
		{"RL.CHECK api user u ONCE id", "-ERR newer|", "*7|:1|:10|:9|:0|:10001|$13|user/slide-1m|$2|ok|"},
		{"RL.CHECK api user u RESERVE id 5s", "-ERR newer|", "*7|:1|:10|:9|:0|:10001|$13|user/slide-1m|$2|ok|"},
		{"RL.CHECK api user u RESERVE id 5s PEEK", "-ERR syntax", ""},
		{"RL.CHECK api user u PEEK RESERVE id 5s", "*7|:1|:10|:10|:0|:0|$13|user/slide-1m|$2|ok|", ""},
		{"RL.SETTLE api user u BY 4", "*8|:1|:10|:6|:0|:55001|$13|user/slide-1m|$2|ok|", ""},
		{"RL.SETTLE api user u BY 30", "*8|:0|:10|:10|:-1|:0|$13|user/slide-1m|$7|limited|",
			"*8|:0|:10|:0|:37001|:67001|$13|user/slide-1m|$7|limited|"},
		{"RL.SETTLE api user u BY -4", "*8|:1|:10|:10|:0|:0|$13|user/slide-1m|$2|ok|", ""},
		{"RL.SETTLE api job j ID a BY 1", "*8|:1|:2|:2|:0|:0|$13|jobs/lease-1m|$2|ok|", ""},
		{"RL.SETTLE api closed c BY 1", "*8|:1|:0|:0|:0|:0|$15|closed/slide-1m|$2|ok|", ""},
		{"RL.SETTLE api user u AND closed c AND job j ID a BY 2",
			"*8|:1|:0|:0|:0|:0|$15|closed/slide-1m|$2|ok|*4|*8|$13|user/slide-1m|:1|:10|:8|", ""},
	} {
		for _, older := range []bool{true, false} {
			_, s, cluster := newMixed(t)
			want := tt.older
			if !older {
				if cluster.older = nil; tt.newer != "" {
					want = tt.newer
				}
			}
			ask(s, "RL.FIXED f 100 1m 70", "RL.LOG log 100 1m 20", "DEBUG ADVANCE-TIME 10s", "RL.LOG log 100 1m 50")
			if got := ask(s, tt.line); !strings.HasPrefix(got, want) {
				t.Errorf("%s with an older node %v:\n got %s\nwant %s", tt.line, older, got, want)
			}
		}
	}
}

// TestOlderTransaction: a transaction is refused as a whole.
func TestOlderTransaction(t *testing.T) {
	_, s, _ := newMixed(t)
	got := ask(s, "MULTI", "RL.FIXED f 5 1m", "RL.REFUND f 1 AGE 1s", "EXEC", "RL.FIXED f 5 1m")
	if !strings.Contains(got, "-ERR batch") || !strings.HasSuffix(got, "*5|:1|:5|:4|:0|:20000|") {
		t.Errorf("got %s", got)
	}
}

// TestOlderRequests: requests of other protocols report usage and give hits back while a node is
// older.
func TestOlderRequests(t *testing.T) {
	h, _, _ := newMixed(t)
	for _, tt := range []struct {
		name     string
		own      int64
		negative bool
		want     string
	}{
		{"a request", 4, false, "true [6 96]"},
		{"one that gives back", 3, true, "true [9 99]"},
		{"one that gives back to full limits", 5, true, "true [10 100]"},
		{"usage that fits", 12, false, "false [10 100]"},
		{"the answer after the report of 12", 1, false, "false [0 88]"},
	} {
		var q checks.Request
		q.Reset([]byte("api"))
		d := q.AddDescriptor()
		d.Entries = append(d.Entries, rules.Entry{Key: []byte("user"), Value: []byte("u")})
		if q.Own = []int64{tt.own}; tt.negative {
			q.Negative = []bool{true}
		}
		got := ""
		err := h.Check(context.Background(), session.Call{Account: h.Logins().Initial()}, &q, func(a *checks.Answer) {
			got = fmt.Sprint(a.Allowed, []int64{a.Rows[0].Remaining, a.Rows[1].Remaining})
		})
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, error %v, want %q", tt.name, got, err, tt.want)
		}
	}
}
