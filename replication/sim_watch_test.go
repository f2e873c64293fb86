package replication

import (
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/replication/undecided"
)

// transact reads a key and then uses it, if it has not changed.
func (p *simProcess) transact() {
	c := p.on.cluster
	c.mu.Lock()
	take := c.keys.Counter(c.rng)
	c.mu.Unlock()
	saw := p.ask(simtest.Request{Ops: []engine.Op{{Kind: engine.Watch, Key: take.Key}}})
	if saw.Outcome != simtest.Answered {
		return
	}
	time.Sleep(c.between(0, 200*time.Millisecond))
	if c.intN(2) == 0 { // else other clients may have changed it
		p.ask(simtest.Request{Ops: []engine.Op{take}})
	}
	expect := engine.Op{Kind: engine.Expect, Key: take.Key, N: saw.Decisions[0].Remaining}
	then := p.ask(simtest.Request{Ops: []engine.Op{expect, take}, Atomic: true})
	c.history.Watch(simtest.Watched{Read: saw, Use: then})
}

// checkNoQuorum checks a node's answer without a majority, given how long it has been
// without a leader.
func (c *simCluster) checkNoQuorum(call *simtest.Call, b *engine.Batch, leaderless time.Duration) {
	hold := holdHalfTimeouts * c.plan.election / 2
	if waited := time.Since(c.history.Start) - call.Called; waited < hold && leaderless < hold {
		c.fault("call %d was answered without a majority after %v, %v after the last leader, and may wait for one for %v",
			call.Number, waited, leaderless, hold)
	}
	at := 0
	for ops := range undecided.Together(b.Ops) {
		for i := range ops {
			if d := b.Decisions[at]; c.isWrongAlone(ops, i, d) {
				c.fault("call %d was answered without a majority: %s %+v", call.Number, simtest.Text(b.Ops[at:at+1], b.Calls), d)
			}
			at++
		}
	}
}

// isWrongAlone reports whether a node may not decide so about an op without a majority, given the
// ops that are decided together with it.
func (c *simCluster) isWrongAlone(ops []engine.Op, i int, d engine.Decision) bool {
	byRules := ops[0].Kind == engine.Needs
	switch {
	case c.plan.noQuorum == undecided.Error:
		return d.Status != engine.Down
	case c.plan.noQuorum == undecided.Local:
		return !byRules && !undecided.TakesTokens(ops[i]) && d.Status != engine.Down
	case byRules && (i == 0 || ops[i].Mode == engine.Guard):
		return d.Allowed != 1 // the documents count as those in force, and boxes as open
	case !byRules && !undecided.TakesTokens(ops[i]):
		return d.Status != engine.Down
	}
	return (d.Allowed > 0) != (c.plan.noQuorum == undecided.Allow)
}

const (
	// simClockEvery is the interval of checks of the cluster's clock.
	simClockEvery = 2 * time.Second
	// simClockRight is the error that a right clock may have.
	simClockRight = time.Second
	// simClockAhead is the maximum lead of the cluster's time over the real time: the
	// clocks of a majority may have been ahead when it began.
	simClockAhead = 2 * simClockRight
)

// mostClocksRight reports whether the clocks of a majority of the members, recent members
// included, are right.
func (c *simCluster) mostClocksRight() bool {
	right, members := 0, c.members()
	for _, n := range members {
		if off := time.Duration(n.clock.Wall() - engine.Instant(time.Now().UnixNano())); off.Abs() < simClockRight {
			right++
		}
	}
	return right > len(members)/2
}

// watchClocks compares the cluster's clock with the time, which the clocks of a majority
// show.
func (c *simCluster) watchClocks() {
	type reading struct {
		of   *simProcess
		term uint64
		off  time.Duration
		at   time.Time
	}
	var before reading
	for {
		select {
		case <-c.ending:
			return
		case <-time.After(simClockEvery):
		}
		n := c.leader()
		if n == nil {
			continue
		}
		p := n.running()
		if p == nil || p.isEnded() {
			continue
		}
		o := p.leadership()
		if !o.leading || !c.mostClocksRight() {
			before = reading{}
			continue
		}
		now := reading{p, o.term, time.Duration(p.node.clock.now() - engine.Instant(time.Now().UnixNano())), time.Now()}
		if now.off > simClockAhead {
			c.fault("the cluster's time is ahead by %v", now.off)
		}
		if before.of == now.of && before.term == now.term {
			moved, most := now.off-before.off, now.at.Sub(before.at)/engine.MaxSlew
			if moved.Abs() > most+simExact {
				c.fault("in %v the cluster's time went from %v to %v off", now.at.Sub(before.at), before.off, now.off)
			}
		}
		before = now
	}
}
