package replication

import (
	"bytes"
	"sync/atomic"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A flight is a group of batches on its way through the log as one entry. What
// comes first, the machine that carries it out or the news that it may be lost,
// changes its state from flying, and answers it.
type proposal struct {
	data     []byte
	stamp    engine.Instant
	parts    []part
	requests []waitingRequest
	state    atomic.Int32
	applying    chan struct{} // closed when the machine begins to carry it out
	applied   chan struct{} // closed when it has
}

func newProposal(stamp engine.Instant) *proposal {
	return &proposal{stamp: stamp, applying: make(chan struct{}), applied: make(chan struct{})}
}

// The states of a flight.
const (
	proposalPending int32 = iota
	proposalClaimed
	proposalAbandoned
)

// A part is a batch of the entry: several joined, for the engine is faster with more
// ops for each shard, or one that must stay by itself.
type part struct {
	batch *engine.Batch
	// requests is how many of the flight's are joined in it; 0: one that is batch
	// itself, or the original of it, of which the Expects were left out; -1: none.
	requests int
}

// A builder makes flights of what waits. One goroutine uses it.
type builder struct {
	entry persist.Entry
	spare []*engine.Batch // joined ones of flights that have been answered
}

// maxEntryBytes is how long an entry gets before another is begun. One batch may be
// longer.
const maxEntryBytes = 64 << 10

// build makes a flight of requests from the first on, as many as fit, of which none
// has an Expect. full says that no key may be added, and victims are to be dropped first.
func (b *builder) build(stamp engine.Instant, requests []waitingRequest, full bool, victims [][]byte) *proposal {
	f := newProposal(stamp)
	b.entry.Reset()
	b.dropVictims(f, victims)
	n := 0
	for n < len(requests) && b.entry.Len() < maxEntryBytes {
		joined := b.joinable(requests[n:])
		p := part{batch: requests[n].batch}
		if joined > 1 {
			p = part{b.join(requests[n : n+joined]), joined}
		}
		p.batch.Full = full
		b.entry.Append(stamp, p.batch)
		f.parts = append(f.parts, p)
		n += max(joined, 1)
	}
	f.requests, f.data = requests[:n], bytes.Clone(b.entry.Bytes())
	return f
}

// buildExpecting makes a flight of one request whose Expects hold.
func (b *builder) buildExpecting(stamp engine.Instant, requests []waitingRequest, full bool) *proposal {
	f := newProposal(stamp)
	f.requests = requests[:1]
	batch := &engine.Batch{Atomic: true, Full: full}
	for _, op := range requests[0].batch.Ops {
		if op.Kind != engine.Expect {
			batch.Ops = append(batch.Ops, op)
		}
	}
	b.entry.Reset()
	b.entry.Append(stamp, batch)
	f.parts, f.data = []part{{batch: batch}}, bytes.Clone(b.entry.Bytes())
	return f
}

// dropVictims puts a batch in front that drops keys.
func (b *builder) dropVictims(f *proposal, victims [][]byte) {
	if len(victims) == 0 {
		return
	}
	batch := new(engine.Batch)
	for _, key := range victims {
		batch.Ops = append(batch.Ops, engine.Op{Kind: engine.Forget, Key: key})
	}
	b.entry.Append(f.stamp, batch)
	f.parts = append(f.parts, part{batch: batch, requests: -1})
}

// joinedOps is how many ops are joined into one batch.
const joinedOps = 2048

// joinable is how many requests, from the first on, may be carried out as one.
func (b *builder) joinable(requests []waitingRequest) (n int) {
	for ops := 0; n < len(requests) && !requests[n].batch.Atomic && ops < joinedOps; n++ {
		ops += len(requests[n].batch.Ops)
	}
	return n
}

func (b *builder) join(requests []waitingRequest) *engine.Batch {
	all := new(engine.Batch)
	if n := len(b.spare); n > 0 {
		all, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	for _, r := range requests {
		all.Ops = append(all.Ops, r.batch.Ops...)
	}
	return all
}

// answer tells all requests of a flight that was carried out.
func (f *proposal) answer() {
	requests := f.requests
	for _, p := range f.parts {
		switch {
		case p.requests < 0:
		case p.requests == 0:
			if original := requests[0].batch; original != p.batch {
				answerExpecting(original, p.batch)
			}
			requests = requests[1:]
		default:
			split(p.batch, requests[:p.requests])
			requests = requests[p.requests:]
		}
	}
	for _, r := range f.requests {
		r.done(nil)
	}
}

// split gives the decisions of a joined batch to those that it was made of.
func split(all *engine.Batch, requests []waitingRequest) {
	rest := all.Decisions
	for _, r := range requests {
		n := len(r.batch.Ops)
		r.batch.Decisions = append(r.batch.Decisions[:0], rest[:n]...)
		rest = rest[n:]
	}
}

// answerExpecting gives the decisions of a batch without Expects to the original.
func answerExpecting(original, batch *engine.Batch) {
	original.Decisions = original.Decisions[:0]
	rest := batch.Decisions
	for i := range original.Ops {
		var d engine.Decision
		if original.Ops[i].Kind != engine.Expect {
			d, rest = rest[0], rest[1:]
		}
		original.Decisions = append(original.Decisions, d)
	}
}

// refuse tells all requests of a flight an error.
func (f *proposal) fail(err error) {
	for _, r := range f.requests {
		r.done(err)
	}
}

// recycle takes the joined batches of a flight back, whose requests have been
// answered.
func (b *builder) recycle(f *proposal) {
	for _, p := range f.parts {
		if p.requests > 0 && len(b.spare) < maxSpareBatches {
			clear(p.batch.Ops) // they point to what belongs to others
			p.batch.Reset()
			b.spare = append(b.spare, p.batch)
		}
	}
}

const maxSpareBatches = 4
