package replication

import (
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// simPace is the maximum speed of a cluster's time.
const simPace = 1 + 1.0/engine.MaxSlew

// simExact is the precision of time comparisons: the rounding of a float.
const simExact = time.Microsecond

// timeByClocks records that all nodes running at the last decision were restarted: the
// cluster's time then continues from clocks alone, like a single server's.
func (h *simHistory) timeByClocks() {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.byClock = append(h.byClock, time.Since(h.Start))
}

// spans splits the ops of the log where time continued from clocks alone.
func (h *simHistory) spans() (all [][]simtest.Applied) {
	from, marks := 0, h.byClock
	for i := range h.Ops {
		for ; len(marks) > 0 && marks[0] < h.Ops[i].Done; marks = marks[1:] {
			all, from = append(all, h.Ops[from:i]), i
		}
	}
	return append(all, h.Ops[from:])
}

// checkPace finds two decisions with stamps that are further apart than the time between
// them, by more than a thousandth.
func (h *simHistory) checkPace() {
	for _, ops := range h.spans() {
		if len(ops) == 0 {
			continue
		}
		// ahead is the least lead that the stamp of an earlier op may have over the time.
		first := ops[0].Stamp
		stamp := func(a *simtest.Applied) time.Duration { return time.Duration(a.Stamp - first) }
		scaled := func(d time.Duration) time.Duration { return time.Duration(simPace * float64(d)) }
		earlier := &ops[0]
		for i := range ops {
			a := &ops[i]
			if most := scaled(a.Done - earlier.Called); stamp(a)-stamp(earlier) > most+simExact {
				h.Fault("entries %d and %d are stamped %v apart, and between them are %v at most",
					earlier.Index, a.Index, stamp(a)-stamp(earlier), a.Done-earlier.Called)
				break
			}
			if stamp(a)-scaled(a.Called) < stamp(earlier)-scaled(earlier.Called) {
				earlier = a
			}
		}
	}
}

// checkWindows finds intervals of real time, shorter than the window of a limit by more
// than a thousandth, that gave more than the limit.
func (h *simHistory) checkWindows() {
	for _, ops := range h.spans() {
		given := map[string][]*simtest.Applied{}
		for i := range ops {
			a := &ops[i]
			if a.Op.Params != simtest.Window || a.Decision.Allowed == 0 || h.Evicted[string(a.Op.Key)] {
				continue
			}
			key := string(a.Op.Key)
			in, sum := given[key], int64(0)
			in = append(in, a)
			for at := len(in) - 1; at >= 0; at-- {
				sum += in[at].Op.N
				if sum <= simtest.Window.Limit {
					continue
				}
				if took := a.Done - in[at].Called; float64(took)*simPace < float64(simtest.Window.Period)-float64(simExact) {
					h.Fault("%s gave %d in %v, entries %d to %d, %d in %v are allowed",
						key, sum, took, in[at].Index, a.Index, simtest.Window.Limit, time.Duration(simtest.Window.Period))
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
		{"one is ahead", func(_ *simCluster, n *simNode, _ int) { n.clock.Set(time.Hour, 1) }},
		{"one is behind", func(_ *simCluster, n *simNode, _ int) { n.clock.Set(-time.Hour, 1) }},
		{"one is fast", func(_ *simCluster, n *simNode, _ int) { n.clock.Set(n.clock.Off(), 1.1) }},
		{"one is slow", func(_ *simCluster, n *simNode, _ int) { n.clock.Set(n.clock.Off(), 0.9) }},
		{"one is set again and again", func(c *simCluster, n *simNode, round int) {
			for i := range 20 {
				n.clock.Set(time.Duration(i%5-2)*time.Duration(round)*time.Second, 1)
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
				if n := c.logs.Count(textTimeByClocks); n > 0 {
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
		n       int64         // of the second; the first gives one permit
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
			op := &engine.Op{Key: []byte("k"), N: n, Params: simtest.Window}
			h.Ops = append(h.Ops, simtest.Applied{Op: op, Stamp: engine.Instant(int64(i) * int64(tt.stamp)), Called: at,
				Done: at, Decision: engine.Decision{Allowed: 1}})
		}
		if tt.byClock {
			h.byClock = []time.Duration{second / 2}
		}
		h.checkPace()
		h.checkWindows()
		if len(h.Faults) != tt.want {
			t.Errorf("%s: %q, want %d faults", tt.name, h.Faults, tt.want)
		}
	}
}
