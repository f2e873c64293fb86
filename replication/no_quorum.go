package replication

import (
	"slices"
	"sync"
	"time"

	"limitsrv/engine"
)

// withoutQuorum answers a batch that nobody can decide as Options.NoQuorum says.
func (n *Node) withoutQuorum(r request) {
	var decide func(op *engine.Op, d *engine.Decision)
	policy := n.o.NoQuorum
	switch {
	case policy == NoQuorumError || r.batch.Atomic || !slices.ContainsFunc(r.batch.Ops, takesTokens):
		n.counts.refused.Add(1)
		r.done(n.noQuorumError())
		return
	case policy == NoQuorumLocal:
		n.decideLocally(r)
		return
	case policy == NoQuorumAllow:
		n.counts.allowed.Add(int64(len(r.batch.Ops)))
		decide = allowed
	default:
		n.counts.denied.Add(int64(len(r.batch.Ops)))
		decide = denied
	}
	r.batch.Decisions = r.batch.Decisions[:0]
	for i := range r.batch.Ops {
		d := engine.Decision{Status: engine.Down}
		if op := &r.batch.Ops[i]; takesTokens(*op) {
			decide(op, &d)
		}
		r.batch.Decisions = append(r.batch.Decisions, d)
	}
	n.o.undecided(r.batch)
	r.done(nil)
}

// down is why nobody decides. That no majority can be reached is said only where this node
// has asked all others since it lost the leader.
func (n *Node) noQuorumError() *codedError {
	if why := n.leaderError(); why != nil {
		return why
	}
	return errSilent
}

// leaderless is why no leader is known, nil if one is.
func (n *Node) leaderError() *codedError {
	lead := n.leadership()
	switch {
	case lead.stack == nil:
		return errNoMember
	case lead.leading || !lead.elected && lead.leader.Raft != "":
		return nil
	case n.noMajority.Load():
		return errNoQuorum
	}
	return errNoLeader
}

// asksPermits says whether an op asks for something that a limit gives.
func takesTokens(op engine.Op) bool {
	return (op.Kind == engine.Take || op.Kind == engine.Acquire) && op.N > 0
}

// allowed answers as a new key would, under which n permits have been taken.
func allowed(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{Params: op.Params, Allowed: 1, Remaining: max(op.Params.Limit-op.N, 0)}
	if op.Mode&engine.Partial != 0 {
		d.Allowed = op.N
	}
}

// denied answers as a key that has nothing left and whose state nobody knows: to
// be asked again in a second.
func denied(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{Params: op.Params, Wait: engine.Span{Millis: deniedRetryMillis}, Reset: engine.Span{Millis: deniedRetryMillis}}
}

// retryDenied is in milliseconds.
const deniedRetryMillis = 1000

// A localEngine decides while there is no quorum, by what the node knew of a key
// when it was first asked for it. It is dropped when there is a leader again.
type localEngine struct {
	mu     sync.Mutex
	engine *engine.Engine
	from   *engine.Engine // what keys are taken over from
	last   engine.Instant
	block  []byte
}

// empty is an engine without keys.
func (l *localEngine) empty() *engine.Engine {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine == nil {
		l.engine = engine.New(engine.Options{})
	}
	return l.engine
}

// decideLocally decides what asks for permits against this node's own last state.
func (n *Node) decideLocally(r request) {
	s := n.stack.Load()
	if s == nil {
		n.counts.refused.Add(1)
		r.done(n.noQuorumError())
		return
	}
	n.local.decide(s.fsm, r.batch, n.maxMemory.Load(), n.evict.Load())
	n.o.undecided(r.batch)
	n.counts.locally.Add(int64(len(r.batch.Ops)))
	r.done(nil)
}

// decide decides what asks for permits. Its keys have the memory that the bound leaves
// beside those of the node, at least a sixteenth of it.
func (l *localEngine) decide(m *fsm, b *engine.Batch, maxMemory int64, evict bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from := m.engine.Load(); l.from != from || l.engine == nil {
		l.from, l.engine = from, m.emptyEngine()
	}
	if maxMemory > 0 {
		maxMemory = max(maxMemory-l.from.MemoryBytes(), maxMemory/16, 1)
	}
	l.engine.SetBound(maxMemory, evict)
	now := m.now()
	l.last = now
	var asked engine.Batch
	for i := range b.Ops {
		if op := &b.Ops[i]; takesTokens(*op) {
			l.importKey(now, op.Key)
			asked.Ops = append(asked.Ops, *op)
		}
	}
	l.engine.Apply(now, &asked)
	b.Decisions = b.Decisions[:0]
	rest := asked.Decisions
	for i := range b.Ops {
		d := engine.Decision{Status: engine.Down}
		if takesTokens(b.Ops[i]) {
			d, rest = rest[0], rest[1:]
		}
		b.Decisions = append(b.Decisions, d)
	}
}

// adopt takes a key over as the node knows it, unless it is there. mu is held.
func (l *localEngine) importKey(now engine.Instant, key []byte) {
	if l.engine.KeyBytes(now, key) > 0 {
		return
	}
	block, ok := l.from.Export(now, key, l.block[:0])
	if !ok {
		return
	}
	l.block = block
	// What is there as a rested key is as good as new, and is replaced.
	drop := engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: key}}}
	l.engine.Apply(now, &drop)
	if err := l.engine.Load(block); err != nil {
		panic(err) // a block of an engine of the same seed, of a key that is not there
	}
}

// drop forgets what was decided locally.
func (l *localEngine) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engine, l.from = nil, nil
}

// localKept is how long after the last local decision they are forgotten, once
// there is a leader.
const localRetention = 10 * time.Second

// dropLocal forgets local decisions when there has been a leader for long enough.
func (n *Node) expireLocal(s *raftStack) {
	l := &n.local
	l.mu.Lock()
	old := l.from != nil && s.fsm.now()-l.last > engine.Instant(localRetention)
	l.mu.Unlock()
	if old {
		l.drop()
	}
}
