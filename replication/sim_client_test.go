package replication

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"limitsrv/engine"
)

// simClients is the number of clients; each calls any node.
const simClients = 4

// simPatience bounds a client's wait for an answer; no node may take longer.
const simPatience = 20 * time.Second

// simKeys are the keys in use of limits that regain nothing. Each is used for as many
// calls as Porcupine can check.
type simKeys struct {
	made  int
	inUse [3]struct {
		key         string
		limit, left int64
	}
}

// take returns an op on one of them.
func (k *simKeys) take(rng *rand.Rand) engine.Op {
	slot := &k.inUse[rng.IntN(len(k.inUse))]
	if slot.left == 0 {
		k.made++
		slot.key, slot.limit, slot.left = fmt.Sprint("counter:", k.made), 20+rng.Int64N(200), simSample*3/4
	}
	slot.left--
	p := engine.Params{Alg: engine.Fixed, Limit: slot.limit, Period: simForever}
	return engine.Op{Key: []byte(slot.key), N: rng.Int64N(5), Params: p}
}

// Limits that regain tokens, of every algorithm.
var simLimits = []engine.Params{
	{Alg: engine.Token, Limit: 5, Count: 1, Period: int64(2 * time.Second)},
	{Alg: engine.Token, Limit: 20, Count: 1, Period: int64(time.Second)},
	{Alg: engine.Leaky, Limit: 5, Count: 1, Period: int64(time.Second)},
	{Alg: engine.Fixed, Limit: 10, Period: int64(time.Minute)},
	{Alg: engine.Fixed, Limit: 100, Calendar: engine.Day},
	{Alg: engine.Slide, Limit: 10, Period: int64(time.Minute)},
	{Alg: engine.Log, Limit: 10, Period: int64(time.Minute)},
	{Alg: engine.Lease, Limit: 3, Period: int64(30 * time.Second)},
	simWindow,
}

// simOp returns an op on one of them.
func simOp(rng *rand.Rand) engine.Op {
	which := rng.IntN(len(simLimits))
	p := simLimits[which]
	op := engine.Op{Key: fmt.Appendf(nil, "limit:%d:%d", which, rng.IntN(3)), N: 1 + rng.Int64N(3), Params: p}
	if p.Alg == engine.Token || p == simWindow { // for checkEarned and checkWindows, which support no others
		return op
	}
	kind := rng.IntN(20)
	switch {
	case p.Alg == engine.Lease:
		op.Kind, op.N = engine.Acquire, 1
	case kind == 0:
		op.Kind, op.Params = engine.Forget, engine.Params{}
	case kind == 1:
		op.Kind, op.Params = engine.Refund, engine.Params{}
	case kind == 2:
		op.Kind = engine.Charge
	case kind == 3:
		op.Mode = engine.Partial
	case kind == 4:
		op.N = 0
	}
	return op
}

// simOps returns the ops of one call.
func (c *simCluster) simOps() (ops []engine.Op, atomic bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range 1 + c.rng.IntN(4) {
		if c.rng.IntN(2) == 0 {
			ops = append(ops, c.keys.take(c.rng))
		} else {
			ops = append(ops, simOp(c.rng))
		}
	}
	return ops, c.rng.IntN(4) == 0
}

// client makes calls until the run ends.
func (c *simCluster) client() {
	for {
		c.mu.Lock()
		gap := time.Duration(c.rng.ExpFloat64() * float64(c.plan.idleGap))
		if c.busy {
			gap = time.Duration(c.rng.ExpFloat64() * float64(c.plan.busyGap))
		}
		c.mu.Unlock()
		select {
		case <-c.ending:
			return
		case <-time.After(gap):
		}
		nodes := c.all()
		if p := nodes[c.intN(len(nodes))].running(); p != nil && c.enterCall() {
			p.call()
			c.leaveCall()
		}
	}
}

// call makes one call of a client, or two around a watched key.
func (p *simProcess) call() {
	c := p.on.cluster
	if c.intN(8) == 0 {
		p.transact()
		return
	}
	ops, atomic := c.simOps()
	p.ask(ops, atomic)
	p.sweep(1 + c.intN(20))
}

// sweep has the node purge expired keys.
func (p *simProcess) sweep(pages int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.ended {
		p.node.Sweep(pages)
	}
}

// enterCall reports whether a client may call, and counts it.
func (c *simCluster) enterCall() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet {
		return false
	}
	c.inCalls++
	return true
}

func (c *simCluster) leaveCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inCalls--
}

// pauseClients stops new calls, and returns when none is pending.
func (c *simCluster) pauseClients() {
	for {
		c.mu.Lock()
		c.quiet = true
		left := c.inCalls
		c.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *simCluster) setClients(busy, quiet bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.quiet = busy, quiet
}

// ask makes one call of a client, and records it in the history. It returns its outcome.
func (p *simProcess) ask(ops []engine.Op, atomic bool) simOutcome {
	return p.askFor(ops, atomic).outcome
}

// askFor is ask, and returns the call.
func (p *simProcess) askFor(ops []engine.Op, atomic bool) *simCall {
	c := p.on.cluster
	h := c.history
	call := h.begin(p.on.name, ops, atomic)
	batch := &engine.Batch{Ops: append([]engine.Op(nil), ops...), Atomic: atomic}
	done := make(chan error, 2)
	if !p.exec(batch, func(err error) { done <- err }) {
		h.finish(call, simRefused, nil)
		return call
	}
	outcome := simUnknown
	select {
	case err := <-done:
		if !p.isEnded() {
			outcome = c.outcome(call, err)
			if leaderless, alone := p.undecided.LoadAndDelete(batch); alone && err == nil {
				outcome = simNoQuorum
				c.checkNoQuorum(call, batch, leaderless.(time.Duration))
			}
		}
	case <-p.gone:
	case <-time.After(simPatience):
		c.fault("call %d to %s was not answered within %v", call.number, p.on.name, simPatience)
	}
	var decisions []engine.Decision
	if outcome == simAnswered || outcome == simNoQuorum {
		decisions = batch.Decisions
	}
	h.finish(call, outcome, decisions)
	return call
}

// exec submits a batch to the node, unless the process has ended.
func (p *simProcess) exec(batch *engine.Batch, done func(error)) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.ended {
		return false
	}
	p.node.Exec(batch, done)
	p.node.Commit()
	return true
}

// outcome returns the client's conclusion from an answer.
func (c *simCluster) outcome(call *simCall, err error) simOutcome {
	var coded interface{ Code() string }
	switch {
	case err == nil:
		return simAnswered
	case !errors.As(err, &coded):
		c.fault("call %d was answered without a code: %v", call.number, err)
		return simUnknown
	case coded.Code() == "UNCERTAIN":
		return simUnknown
	}
	return simRefused
}
