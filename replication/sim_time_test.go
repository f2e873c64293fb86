package replication

import (
	"testing"
	"time"

	"limitsrv/engine"
)

// simPace is the maximum speed of a cluster's time.
const simPace = 1 + 1.0/engine.MaxSlew

// simExact is the precision of time comparisons: the rounding of a float.
const simExact = time.Microsecond

// timeByClocks records that all nodes running at the last decision were restarted: the
// cluster's time then continues from clocks alone, like a single server's.
func (h *simHistory) timeByClocks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byClock = append(h.byClock, time.Since(h.start))
}

// spans splits the ops of the log where time continued from clocks alone.
func (h *simHistory) spans() (all [][]simApplied) {
	from, marks := 0, h.byClock
	for i := range h.ops {
		for ; len(marks) > 0 && marks[0] < h.ops[i].done; marks = marks[1:] {
			all, from = append(all, h.ops[from:i]), i
		}
	}
	return append(all, h.ops[from:])
}

// checkPace finds two decisions with stamps that are further apart than the time between
// them, by more than a thousandth.
func (h *simHistory) checkPace() {
	for _, ops := range h.spans() {
		if len(ops) == 0 {
			continue
		}
		// ahead is the least by which the stamp of an earlier op may be ahead of the time.
		first := ops[0].stamp
		stamp := func(a *simApplied) time.Duration { return time.Duration(a.stamp - first) }
		scaled := func(d time.Duration) time.Duration { return time.Duration(simPace * float64(d)) }
		earlier := &ops[0]
		for i := range ops {
			a := &ops[i]
			if most := scaled(a.done - earlier.called); stamp(a)-stamp(earlier) > most+simExact {
				h.fault("entries %d and %d are stamped %v apart, and between them are %v at most",
					earlier.index, a.index, stamp(a)-stamp(earlier), a.done-earlier.called)
				break
			}
			if stamp(a)-scaled(a.called) < stamp(earlier)-scaled(earlier.called) {
				earlier = a
			}
		}
	}
}

// simWindow is a limit with keys that are used only by Takes.
var simWindow = engine.Params{Alg: engine.Log, Limit: 5, Period: int64(10 * time.Second)}

// checkWindows finds intervals of real time, shorter than the window of such a limit by
// more than a thousandth, in which more than the limit was given.
func (h *simHistory) checkWindows() {
	for _, ops := range h.spans() {
		given := map[string][]*simApplied{}
		for i := range ops {
			a := &ops[i]
			if a.op.Params != simWindow || a.decision.Allowed == 0 || h.evicted[string(a.op.Key)] {
				continue
			}
			key := string(a.op.Key)
			in, sum := given[key], int64(0)
			in = append(in, a)
			for at := len(in) - 1; at >= 0; at-- {
				sum += in[at].op.N
				if sum <= simWindow.Limit {
					continue
				}
				if took := a.done - in[at].called; float64(took)*simPace < float64(simWindow.Period)-float64(simExact) {
					h.fault("%s gave %d in %v, entries %d to %d, %d in %v are allowed",
						key, sum, took, in[at].index, a.index, simWindow.Limit, time.Duration(simWindow.Period))
				}
				in = in[at:]
				break
			}
			given[key] = in
		}
	}
}

// Leader after leader fails under load, while a minority of the clocks is wrong:
// history.check verifies the pace of time, and windows in real time.
func TestSimTime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wrong func(c *simCluster, n *simNode, round int)
	}{
		{"all clocks are right", func(*simCluster, *simNode, int) {}},
		{"one is ahead", func(_ *simCluster, n *simNode, _ int) { n.clock.set(time.Hour, 1) }},
		{"one is behind", func(_ *simCluster, n *simNode, _ int) { n.clock.set(-time.Hour, 1) }},
		{"one is fast", func(_ *simCluster, n *simNode, _ int) { n.clock.set(n.clock.off(), 1.1) }},
		{"one is slow", func(_ *simCluster, n *simNode, _ int) { n.clock.set(n.clock.off(), 0.9) }},
		{"one is set again and again", func(c *simCluster, n *simNode, round int) {
			for i := range 20 {
				n.clock.set(time.Duration(i%5-2)*time.Duration(round)*time.Second, 1)
				time.Sleep(c.between(0, 300*time.Millisecond))
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := simCasePlan
			plan.busyGap = 100 * time.Millisecond
			simCaseOf(t, plan, func(t *testing.T, c *simCluster) {
				for round := range 12 {
					tt.wrong(c, c.all()[0], round)
					time.Sleep(c.between(0, 3*time.Second))
					old := c.leader()
					if old == nil {
						t.Fatal("there is no leader")
					}
					switch round % 3 {
					case 0:
						old.running().crash(100)
					case 1:
						c.cutOff(old)
					default:
						c.transfer()
					}
					time.Sleep(15 * time.Second)
					c.converge("a leader that failed")
					c.setClients(true, false)
				}
				if n := c.logs.count(textTimeByClocks); n > 0 {
					t.Errorf("time went on from clocks alone %d times: less is tested", n)
				}
			})
		})
	}
}

// TestSimTimeClaims makes histories by hand, and checks their windows and pace.
func TestSimTimeClaims(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name    string
		stamp   time.Duration // of the second decision, a second after the first
		byClock bool          // time continued from clocks alone between them
		n       int64         // of the second; the first gives one
		want    int           // faults
	}{
		{"a thousandth too fast", second + second/1000, false, 1, 0},
		{"more than that", second + second/1000 + 2*simExact, false, 1, 1},
		{"more than that, by clocks", 2 * second, true, 1, 0},
		{"a full window", second, false, 4, 0},
		{"one more", second, false, 5, 1},
		{"one more, by clocks", second, true, 5, 0},
	} {
		h := newSimHistory()
		for i, n := range []int64{1, tt.n} {
			at := time.Duration(i) * second
			op := &engine.Op{Key: []byte("k"), N: n, Params: simWindow}
			h.ops = append(h.ops, simApplied{op: op, stamp: engine.Instant(int64(i) * int64(tt.stamp)), called: at, done: at, decision: engine.Decision{Allowed: 1}})
		}
		if tt.byClock {
			h.byClock = []time.Duration{second / 2}
		}
		h.checkPace()
		h.checkWindows()
		if len(h.faults) != tt.want {
			t.Errorf("%s: %q, want %d faults", tt.name, h.faults, tt.want)
		}
	}
}
