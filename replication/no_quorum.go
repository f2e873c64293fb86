package replication

import (
	"slices"
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
)

// withoutQuorum answers a batch that no leader can decide, according to Options.NoQuorum.
func (n *Node) withoutQuorum(r forward.Request) {
	var decide func(op *engine.Op, d *engine.Decision)
	policy := n.o.NoQuorum
	switch {
	case policy == NoQuorumError || r.Batch.Atomic || !slices.ContainsFunc(r.Batch.Ops, takesTokens):
		n.counts.refused.Add(1)
		r.Done(n.noQuorumError())
		return
	case policy == NoQuorumLocal:
		n.decideLocally(r)
		return
	case policy == NoQuorumAllow:
		n.counts.allowed.Add(int64(len(r.Batch.Ops)))
		decide = allowed
	default:
		n.counts.denied.Add(int64(len(r.Batch.Ops)))
		decide = denied
	}
	r.Batch.Decisions = r.Batch.Decisions[:0]
	for i := range r.Batch.Ops {
		d := engine.Decision{Status: engine.Down}
		if op := &r.Batch.Ops[i]; takesTokens(*op) {
			decide(op, &d)
		}
		r.Batch.Decisions = append(r.Batch.Decisions, d)
	}
	n.o.undecided(r.Batch)
	r.Done(nil)
}

// noQuorumError returns the reason for which requests are not decided. It is errNoQuorum
// only if this node has asked all others since it lost the leader.
func (n *Node) noQuorumError() *link.Error {
	if why := n.leaderError(); why != nil {
		return why
	}
	return errLeaderSilent
}

// leaderError returns the reason for which no leader is known, or nil.
func (n *Node) leaderError() *link.Error {
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

// takesTokens reports whether an op requests tokens or leases.
func takesTokens(op engine.Op) bool {
	return (op.Kind == engine.Take || op.Kind == engine.Acquire) && op.N > 0
}

// allowed decides as a new key would after n tokens were taken.
func allowed(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{Params: op.Params, Allowed: 1, Remaining: max(op.Params.Limit-op.N, 0)}
	if op.Mode&engine.Partial != 0 {
		d.Allowed = op.N
	}
}

// denied decides as a key without tokens and with unknown state: retry in a second.
func denied(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{Params: op.Params, Wait: engine.Span{Millis: deniedRetryMillis}, Reset: engine.Span{Millis: deniedRetryMillis}}
}

// deniedRetryMillis is in milliseconds.
const deniedRetryMillis = 1000

// A localEngine decides while there is no quorum, from the state that the node had of a
// key when it was first requested. It is dropped some time after there is a leader again.
type localEngine struct {
	mu     sync.Mutex
	engine *engine.Engine
	from   *engine.Engine // the source of imported keys
	last   engine.Instant
	block  []byte
}

// empty returns an engine without keys.
func (l *localEngine) empty() *engine.Engine {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine == nil {
		l.engine = engine.New(engine.Options{})
	}
	return l.engine
}

// decideLocally decides the ops that take tokens against this node's last state.
func (n *Node) decideLocally(r forward.Request) {
	s := n.stack.Load()
	if s == nil {
		n.counts.refused.Add(1)
		r.Done(n.noQuorumError())
		return
	}
	n.local.decide(s.fsm, r.Batch, n.maxMemory.Load(), n.evict.Load())
	n.o.undecided(r.Batch)
	n.counts.locally.Add(int64(len(r.Batch.Ops)))
	r.Done(nil)
}

// decide decides the ops that take tokens. Its keys may use the memory that the node's
// keys leave below the bound, at least a sixteenth of the bound.
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
			l.importKey(now, op.DB, op.Key)
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

// importKey copies a key from the node's engine, unless it exists. Requires: mu is held.
func (l *localEngine) importKey(now engine.Instant, db uint8, key []byte) {
	if l.engine.KeyBytes(now, db, key) > 0 {
		return
	}
	block, ok := l.from.Export(now, db, key, l.block[:0])
	if !ok {
		return
	}
	l.block = block
	// An expired record of the key is replaced.
	drop := engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, DB: db, Key: key}}}
	l.engine.Apply(now, &drop)
	if err := l.engine.Load(block); err != nil {
		panic(err) // the block is of an engine with the same seed, and the key does not exist
	}
}

// drop discards the local decisions.
func (l *localEngine) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engine, l.from = nil, nil
}

// localRetention is the time after the last local decision at which they are discarded,
// once there is a leader.
const localRetention = 10 * time.Second

// expireLocal discards local decisions if there has been a leader for long enough.
func (n *Node) expireLocal(s *raftStack) {
	l := &n.local
	l.mu.Lock()
	old := l.from != nil && s.fsm.now()-l.last > engine.Instant(localRetention)
	l.mu.Unlock()
	if old {
		l.drop()
	}
}
