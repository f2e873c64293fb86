package replication

import (
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// simClients is the number of clients; each calls any node.
const simClients = 4

// simPatience bounds a client's wait for an answer; no node may take longer.
const simPatience = 20 * time.Second

// request returns the next request of a client. rules are those of its node.
func (c *simCluster) request(rules simtest.Rules) simtest.Request {
	known := c.history.Known()
	known.State = rules.Current()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys.Known = known
	return c.keys.Request(c.rng)
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

// call makes a call of a client, or two around a watched key.
func (p *simProcess) call() {
	c := p.on.cluster
	if c.intN(8) == 0 {
		p.transact()
		return
	}
	p.ask(c.request(p.rules))
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

// pauseClients stops new calls, and returns when no call is pending.
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

// ask makes a call of a client, and records it in the history.
func (p *simProcess) ask(r simtest.Request) *simtest.Call {
	c := p.on.cluster
	h := c.history
	call := h.Begin(p.on.name, r)
	batch := call.Batch()
	done := make(chan error, 2)
	if !p.exec(batch, func(err error) { done <- err }) {
		h.Finish(call, simtest.Refused, nil)
		return call
	}
	outcome := simtest.Unknown
	select {
	case err := <-done:
		if !p.isEnded() {
			outcome = h.Outcome(call, err)
			if leaderless, alone := p.undecided.LoadAndDelete(batch); alone && err == nil {
				outcome = simtest.NoQuorum
				c.checkNoQuorum(call, batch, leaderless.(time.Duration))
			}
		}
	case <-p.gone:
	case <-time.After(simPatience):
		c.fault("call %d to %s was not answered within %v", call.Number, p.on.name, simPatience)
	}
	h.Finish(call, outcome, batch)
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
