package replication

import (
	"fmt"
	"time"

	"limitsrv/engine"
)

// A simWatched is a call that watched a key, and one to be applied only if the key had not
// changed since.
type simWatched struct{ read, use *simCall }

// transact reads a key and then uses it, if it has not changed.
func (p *simProcess) transact() {
	c := p.on.cluster
	c.mu.Lock()
	take := c.keys.take(c.rng)
	c.mu.Unlock()
	saw := p.askFor([]engine.Op{{Kind: engine.Watch, Key: take.Key}}, false)
	if saw.outcome != simAnswered {
		return
	}
	time.Sleep(c.between(0, 200*time.Millisecond))
	if c.intN(2) == 0 { // else others may have changed it
		p.ask([]engine.Op{take}, false)
	}
	expect := engine.Op{Kind: engine.Expect, Key: take.Key, N: saw.decisions[0].Remaining}
	then := p.askFor([]engine.Op{expect, take}, true)
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	c.history.watched = append(c.history.watched, simWatched{saw, then})
}

// checkWatched finds calls applied although their key had changed.
func (h *simHistory) checkWatched() {
	byKey := map[string][]*simCall{}
	for _, c := range h.calls {
		for i := range c.ops {
			if c.ops[i].Kind == engine.Take && c.ops[i].N > 0 {
				byKey[string(c.ops[i].Key)] = append(byKey[string(c.ops[i].Key)], c)
			}
		}
	}
	for _, w := range h.watched {
		then, key := w.use.applied[1], string(w.read.ops[0].Key)
		if then == nil || h.evicted[key] { // the key may have been missing, made, and missing again
			continue
		}
		for _, c := range byKey[key] {
			for i, a := range c.applied {
				if a != nil && string(c.ops[i].Key) == key && c.called > w.read.answered && a.position < then.position && a.decision.Allowed > 0 && a.op.N > 0 {
					h.fault("call %d required that %s was as read by call %d, and call %d came between",
						w.use.number, key, w.read.number, c.number)
				}
			}
		}
	}
}

func (h *simHistory) watchedSummary() string {
	held, aborted := 0, 0
	for _, w := range h.watched {
		switch {
		case w.use.applied[1] != nil:
			held++
		case w.use.outcome == simAnswered:
			aborted++
		}
	}
	return fmt.Sprintf("%d transactions, %d aborted", held, aborted)
}

// checkNoQuorum checks a node's answer without a majority, given the time since which it
// knows no leader.
func (c *simCluster) checkNoQuorum(call *simCall, b *engine.Batch, leaderless time.Duration) {
	hold := holdHalfTimeouts * c.plan.election / 2
	if waited := time.Since(c.history.start) - call.called; waited < hold && leaderless < hold {
		c.fault("call %d was answered without a majority after %v, %v after the last leader, and may wait for one for %v",
			call.number, waited, leaderless, hold)
	}
	for i := range b.Ops {
		op, d := &b.Ops[i], &b.Decisions[i]
		wrong := false
		switch {
		case !takesTokens(*op):
			wrong = d.Status != engine.Down
		case c.plan.noQuorum == NoQuorumAllow:
			wrong = d.Allowed == 0
		case c.plan.noQuorum == NoQuorumDeny:
			wrong = d.Allowed > 0
		case c.plan.noQuorum == NoQuorumError:
			wrong = true
		}
		if wrong {
			c.fault("call %d was answered without a majority: %s %+v", call.number, simOps(b.Ops[i:i+1]), *d)
		}
	}
}

const (
	// simClockEvery is the interval of checks of the cluster's clock.
	simClockEvery = 2 * time.Second
	// simClockRight is the error that a right clock may have.
	simClockRight = time.Second
	// simClockAhead is the maximum by which it may be ahead of the time: the clocks of a
	// majority may have been ahead when it began.
	simClockAhead = 2 * simClockRight
)

// mostClocksRight reports whether the clocks of a majority of the members, also of recent
// ones, are right.
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
