package replication

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"limitsrv/engine"
)

// A simHistory is the clients' calls and answers, and the ops applied by the nodes. It
// detects at once when nodes differ from each other or from its own engine, and more when
// it is checked at the end.
type simHistory struct {
	mu      sync.Mutex
	start   time.Time
	calls   []*simCall
	entries map[uint64]*simEntry // by index
	last    uint64               // the newest
	stamp   engine.Instant       // of the last applied batch
	engine  *engine.Engine
	batch   engine.Batch
	seed    maphash.Seed
	ops     []simApplied // in the order of the log
	watched []simWatched
	byClock []time.Duration // since the start: when time continued from clocks alone
	evicted map[string]bool // keys evicted because of the memory bound
	bounded bool            // a memory bound with eviction was set
	faults  []string
}

// simMostFaults bounds the reported faults.
const simMostFaults = 10

func newSimHistory() *simHistory {
	return &simHistory{
		start: time.Now(), entries: map[uint64]*simEntry{}, seed: maphash.MakeSeed(),
		engine: engine.New(engine.Options{Shards: 1}), evicted: map[string]bool{},
	}
}

// A simOutcome is a client's knowledge of its call.
type simOutcome string

const (
	simPending  simOutcome = "pending"
	simAnswered simOutcome = "answered"
	simRefused  simOutcome = "refused" // not applied, and never will be
	simUnknown  simOutcome = "unknown" // may be applied, even later
	simNoQuorum simOutcome = "alone"   // answered without a majority, and not applied
)

// A simCall is a batch submitted by a client.
type simCall struct {
	number    int
	node      string
	ops       []engine.Op
	atomic    bool
	called    time.Duration // since the start
	outcome   simOutcome
	answered  time.Duration
	decisions []engine.Decision // if answered
	applied   []*simApplied     // for each op; nil: it was not applied
}

// toDo returns the number of its ops in the log: Expects are not.
func (c *simCall) toDo() (n int) {
	for i := range c.ops {
		if c.ops[i].Kind != engine.Expect {
			n++
		}
	}
	return n
}

// A simApplied is an op that was applied.
type simApplied struct {
	index    uint64
	position int // of the op in the log
	stamp    engine.Instant
	op       *engine.Op // as requested
	decision engine.Decision
	// It was decided between called and done: after a client's request and before a node
	// had applied it.
	called, done time.Duration
}

// A simEntry is the batches that one entry of the log made the nodes apply.
type simEntry struct{ parts []uint64 } // their sums

// A simReplay is one process's position in the log. It may restart at an earlier entry,
// with the state at that entry.
type simReplay struct {
	history *simHistory
	node    string
	index   uint64
	parts   int // of that entry
}

func (h *simHistory) fault(format string, args ...any) {
	if len(h.faults) < simMostFaults {
		h.faults = append(h.faults, fmt.Sprintf("%v: ", time.Since(h.start).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// simOpsMost bounds the ops of a call.
const simOpsMost = 64

// begin records a call about to be made. Each op gets an ID that identifies it in the log.
func (h *simHistory) begin(node string, ops []engine.Op, atomic bool) *simCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &simCall{
		number: len(h.calls), node: node, ops: ops, atomic: atomic, called: time.Since(h.start), outcome: simPending,
		applied: make([]*simApplied, len(ops)),
	}
	for i := range ops {
		ops[i].ID = binary.BigEndian.AppendUint64(nil, uint64(c.number*simOpsMost+i))
	}
	h.calls = append(h.calls, c)
	return c
}

// finish records the end of a call; only the first time counts.
func (h *simHistory) finish(c *simCall, outcome simOutcome, decisions []engine.Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.outcome != simPending {
		return
	}
	c.outcome, c.answered = outcome, time.Since(h.start)
	if outcome == simAnswered || outcome == simNoQuorum {
		c.decisions = append([]engine.Decision(nil), decisions...)
	}
}

// applied is for Options.applied.
func (r *simReplay) applied(index uint64, stamp engine.Instant, b *engine.Batch) {
	h := r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if index != r.index {
		if e := h.entries[r.index]; e != nil && r.parts != len(e.parts) {
			h.fault("%s applied %d batches of entry %d, others %d", r.node, r.parts, r.index, len(e.parts))
		}
		r.index, r.parts = index, 0
	}
	sum := h.sum(stamp, b)
	e := h.entries[index]
	switch {
	case e != nil && r.parts < len(e.parts):
		if sum != e.parts[r.parts] {
			h.fault("%s applied another batch %d of entry %d, at %d: %v", r.node, r.parts, index, stamp, simOps(b.Ops))
		}
	case index < h.last:
		h.fault("%s applied batch %d of entry %d, which no other node did: %v", r.node, r.parts, index, simOps(b.Ops))
	default:
		if e == nil {
			e = &simEntry{}
			h.entries[index] = e
		}
		e.parts = append(e.parts, sum)
		h.last = index
		h.apply(r.node, index, stamp, b)
	}
	r.parts++
}

// sum returns a hash of a batch, its time and its answers.
func (h *simHistory) sum(stamp engine.Instant, b *engine.Batch) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	maphash.WriteComparable(&m, stamp)
	maphash.WriteComparable(&m, [2]bool{b.Atomic, b.Full})
	for i := range b.Ops {
		op := b.Ops[i]
		m.Write(op.Key)
		m.WriteByte(0)
		m.Write(op.ID)
		maphash.WriteComparable(&m, [3]any{op.Kind, op.Mode, op.Group})
		maphash.WriteComparable(&m, op.Params)
		maphash.WriteComparable(&m, op.N)
		maphash.WriteComparable(&m, comparable(b, i))
	}
	return m.Sum64()
}

// comparable returns a decision without the fields that may differ between nodes: the
// value read by a Watch.
func comparable(b *engine.Batch, i int) engine.Decision {
	if b.Ops[i].Kind == engine.Watch {
		return engine.Decision{}
	}
	return b.Decisions[i]
}

// apply applies a new batch of the log, and finds its call.
func (h *simHistory) apply(node string, index uint64, stamp engine.Instant, b *engine.Batch) {
	if stamp < h.stamp {
		h.fault("entry %d of %s is at %d, the entry before it at %d", index, node, stamp, h.stamp)
	}
	h.stamp = stamp
	h.batch.Reset()
	h.batch.Ops, h.batch.Atomic, h.batch.Full = append(h.batch.Ops, b.Ops...), b.Atomic, b.Full
	h.engine.Apply(stamp, &h.batch)
	for i := range b.Ops {
		op := &b.Ops[i]
		if got, want := comparable(b, i), comparable(&h.batch, i); got != want {
			h.fault("entry %d, %s: %s decided\n got %+v\nwant %+v", index, node, simOps(b.Ops[i:i+1]), got, want)
		}
		if h.bounded && op.Kind == engine.Forget && len(op.ID) == 0 {
			h.evicted[string(op.Key)] = true
			continue
		}
		if len(op.ID) != 8 {
			h.fault("entry %d has an op that no call requested: %s", index, simOps(b.Ops[i:i+1]))
			continue
		}
		tag := int(binary.BigEndian.Uint64(op.ID))
		c, which := h.calls[tag/simOpsMost], tag%simOpsMost
		if c.atomic && (!b.Atomic || len(b.Ops) != c.toDo()) {
			h.fault("call %d was to be applied at once, and was part of %s", c.number, simOps(b.Ops))
		}
		if had := c.applied[which]; had != nil {
			h.fault("call %d was applied in entry %d, and again in %d", c.number, had.index, index)
			continue
		}
		c.applied[which] = &simApplied{
			index: index, position: len(h.ops), stamp: stamp, op: &c.ops[which], decision: b.Decisions[i],
			called: c.called, done: time.Since(h.start),
		}
		h.ops = append(h.ops, *c.applied[which])
	}
}

// simOps formats ops.
func simOps(ops []engine.Op) (text []string) {
	for i := range ops {
		text = append(text, fmt.Sprintf("kind %d of %s n=%d id=%x", ops[i].Kind, ops[i].Key, ops[i].N, ops[i].ID))
	}
	return text
}
