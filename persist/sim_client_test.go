package persist

import (
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

const (
	// simClients is the number of clients.
	simClients = 6
	// simPatience bounds a client's wait for an answer.
	simPatience = 20 * time.Second
	// simIdleGap and simBusyGap are the average pauses of each client between its calls.
	simIdleGap, simBusyGap = 10 * time.Second, 200 * time.Millisecond
)

// client makes calls until the run ends.
func (n *simNode) client() {
	for {
		n.mu.Lock()
		gap := simIdleGap
		if n.busy {
			gap = simBusyGap
		}
		gap = time.Duration(n.rng.ExpFloat64() * float64(gap))
		n.mu.Unlock()
		select {
		case <-n.ending:
			return
		case <-time.After(gap):
		}
		// The process is read before ops are made, because a crash retires keys.
		switch p := n.running(); {
		case p == nil:
		case n.intN(8) == 0:
			p.transact()
		default:
			p.ask(p.requests()...)
			n.with(func(s *Store) { s.Sweep(1 + n.intN(20)) })
		}
	}
}

// requests returns the requests of a wake-up of an event loop.
func (p *simProcess) requests() (all []simtest.Request) {
	n := p.on
	known := n.history.Known()
	if p.ready.Load() {
		known.State = p.rules.Current()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys.Known = known
	for range 1 + n.rng.IntN(4)*n.rng.IntN(2) {
		all = append(all, n.keys.Request(n.rng))
	}
	return all
}

// transact reads a key and then uses it, if it has not changed.
func (p *simProcess) transact() {
	n := p.on
	n.mu.Lock()
	take := n.keys.Counter(n.rng)
	n.mu.Unlock()
	saw := p.ask(simtest.Request{Ops: []engine.Op{{Kind: engine.Watch, Key: take.Key}}})
	if saw == nil || saw[0].Outcome != simtest.Answered {
		return
	}
	time.Sleep(n.between(0, 200*time.Millisecond))
	if n.intN(2) == 0 { // another client uses it meanwhile
		n.wait.Go(func() { p.ask(simtest.Request{Ops: []engine.Op{take}}) })
		time.Sleep(n.between(0, n.plan.slow+time.Millisecond))
	}
	expect := engine.Op{Kind: engine.Expect, Key: take.Key, N: saw[0].Decisions[0].Remaining}
	if then := p.ask(simtest.Request{Ops: []engine.Op{expect, take}, Atomic: true}); then != nil {
		n.history.Watch(simtest.Watched{Read: saw[0], Use: then[0]})
	}
}

// A simAnswer is an answer that a client waits for.
type simAnswer struct {
	call  *simtest.Call
	batch *engine.Batch
	done  chan error
}

// ask makes calls like an event loop: it executes all batches, commits, and then answers.
// It returns nil if the process does not run.
func (p *simProcess) ask(requests ...simtest.Request) (calls []*simtest.Call) {
	if !p.use() {
		return nil
	}
	defer p.uses.Done()
	broken := p.on.isBroken()
	var answers []simAnswer
	for _, r := range requests {
		a := simAnswer{call: p.on.history.Begin("the node", r), done: make(chan error, 2)}
		a.batch = a.call.Batch()
		p.store.Exec(a.batch, func(err error) { a.done <- err })
		answers = append(answers, a)
	}
	p.store.Commit()
	for _, a := range answers {
		p.finishCall(a, broken)
		calls = append(calls, a.call)
	}
	return calls
}

// finishCall waits for the answer to a call, and records it.
func (p *simProcess) finishCall(a simAnswer, broken bool) {
	n, outcome := p.on, simtest.Unknown
	select {
	case err := <-a.done:
		if p.isEnded() {
			break
		}
		outcome = n.history.Outcome(a.call, err)
		if err != nil && n.plan.policy != Always {
			n.fault("call %d was answered %v", a.call.Number, err)
		}
	case <-p.gone:
	case <-time.After(simPatience):
		n.fault("call %d was not answered within %v", a.call.Number, simPatience)
	}
	n.history.Mu.Lock()
	a.call.MayLack = a.call.MayLack || n.plan.policy != Always && (broken || n.isBroken())
	n.history.Mu.Unlock()
	n.history.Finish(a.call, outcome, a.batch)
}
