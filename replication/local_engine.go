package replication

import (
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/fsm"
	"limitsrv/replication/undecided"
)

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

// decide decides the chosen groups and single ops of b, and leaves all other decisions as they are.
// It assumes that the rules that a Needs requires are in force. The keys may use the memory that
// the keys of the node leave free below the bound, but at least a sixteenth of the bound. Requires:
// b has a decision for each op.
func (l *localEngine) decide(m *fsm.FSM, b *engine.Batch, bound engine.Bound, chosen func(ops []engine.Op) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if from := m.Engine(); l.from != from || l.engine == nil {
		l.from, l.engine = from, m.NewEngine()
	}
	if most := bound.MaxBytes; most > 0 {
		bound.MaxBytes = max(most-l.from.MemoryBytes(), most/16, 1)
	}
	l.engine.SetBound(bound)
	now := m.Now()
	l.last = now
	var asked engine.Batch
	for ops := range undecided.Together(b.Ops) {
		if !chosen(ops) {
			continue
		}
		first := len(asked.Ops)
		if ops[0].Kind == engine.Needs {
			asked.Ops = append(asked.Ops, ops[1:]...)
			asked.Ops[first].Group = ops[0].Group - 1
		} else {
			asked.Ops = append(asked.Ops, ops...)
		}
		for i := range asked.Ops[first:] {
			l.importKey(now, asked.Ops[first+i].DB, asked.Ops[first+i].Key)
		}
	}
	l.engine.MakeRoom(now, &asked)
	l.engine.Apply(now, &asked)
	ds, rest := b.Decisions, asked.Decisions
	for ops := range undecided.Together(b.Ops) {
		into := ds[:len(ops)]
		ds = ds[len(ops):]
		if !chosen(ops) {
			continue
		}
		if ops[0].Kind == engine.Needs {
			into[0] = engine.Decision{Allowed: 1}
			into = into[1:]
		}
		rest = rest[copy(into, rest):]
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

// localRetention is the time from the last local decision until they are discarded, once
// there is a leader.
const localRetention = 10 * time.Second

// expire discards local decisions if there has been a leader for long enough.
func (l *localEngine) expire(now engine.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from != nil && now-l.last > engine.Instant(localRetention) {
		l.engine, l.from = nil, nil
	}
}
