package replication

import (
	"bytes"
	"sync/atomic"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A proposal is a group of batches that goes through the log as one entry. Exactly one of
// fsm.Apply and Node.propose moves state from proposalPending; that side answers the
// requests.
type proposal struct {
	data     []byte
	stamp    engine.Instant
	parts    []part
	requests []waitingRequest
	state    atomic.Int32
	applying chan struct{} // closed when the FSM begins to apply it
	applied  chan struct{} // closed when the FSM has applied it
}

func newProposal(stamp engine.Instant) *proposal {
	return &proposal{stamp: stamp, applying: make(chan struct{}), applied: make(chan struct{})}
}

// The states of a proposal.
const (
	proposalPending int32 = iota
	proposalClaimed
	proposalAbandoned
)

// A part is one batch of the entry: several requests joined, because the engine is faster
// with more ops per shard, or a request that must stay separate.
type part struct {
	batch *engine.Batch
	// requests is the number of the proposal's requests that are joined in it; 0: one
	// request: batch is its batch, or a copy of that without its Expects;
	// -1: none.
	requests int
}

// A builder makes proposals from waiting requests. Concurrency: one goroutine.
type builder struct {
	entry persist.Entry
	spare []*engine.Batch // joined batches of answered proposals
}

// maxEntryBytes is the length of an entry at which another is begun. A single batch may be
// longer.
const maxEntryBytes = 64 << 10

// build makes a proposal from as many of the first requests as fit. Requires: none has an
// Expect. full: no key may be added. victims are keys to evict first.
func (b *builder) build(stamp engine.Instant, requests []waitingRequest, full bool, victims [][]byte) *proposal {
	f := newProposal(stamp)
	b.entry.Reset()
	b.dropVictims(f, victims)
	n := 0
	for n < len(requests) && b.entry.Len() < maxEntryBytes {
		joined := b.joinable(requests[n:])
		p := part{batch: requests[n].Batch}
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

// buildExpecting makes a proposal from the first request. Requires: its Expects hold.
func (b *builder) buildExpecting(stamp engine.Instant, requests []waitingRequest, full bool) *proposal {
	f := newProposal(stamp)
	f.requests = requests[:1]
	batch := &engine.Batch{Atomic: true, Full: full}
	for _, op := range requests[0].Batch.Ops {
		if op.Kind != engine.Expect {
			batch.Ops = append(batch.Ops, op)
		}
	}
	b.entry.Reset()
	b.entry.Append(stamp, batch)
	f.parts, f.data = []part{{batch: batch}}, bytes.Clone(b.entry.Bytes())
	return f
}

// dropVictims prepends a batch that forgets the evicted keys.
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

// joinedOps is the number of ops at which a joined batch is complete.
const joinedOps = 2048

// joinable returns how many of the first requests may be joined into one batch.
func (b *builder) joinable(requests []waitingRequest) (n int) {
	for ops := 0; n < len(requests) && !requests[n].Batch.Atomic && ops < joinedOps; n++ {
		ops += len(requests[n].Batch.Ops)
	}
	return n
}

func (b *builder) join(requests []waitingRequest) *engine.Batch {
	all := new(engine.Batch)
	if n := len(b.spare); n > 0 {
		all, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	for _, r := range requests {
		all.Ops = append(all.Ops, r.Batch.Ops...)
	}
	return all
}

// answer answers all requests of a proposal that was applied.
func (f *proposal) answer() {
	requests := f.requests
	for _, p := range f.parts {
		switch {
		case p.requests < 0:
		case p.requests == 0:
			if original := requests[0].Batch; original != p.batch {
				answerExpecting(original, p.batch)
			}
			requests = requests[1:]
		default:
			split(p.batch, requests[:p.requests])
			requests = requests[p.requests:]
		}
	}
	for _, r := range f.requests {
		r.Done(nil)
	}
}

// split copies the decisions of a joined batch to the batches of its requests.
func split(all *engine.Batch, requests []waitingRequest) {
	rest := all.Decisions
	for _, r := range requests {
		n := len(r.Batch.Ops)
		r.Batch.Decisions = append(r.Batch.Decisions[:0], rest[:n]...)
		rest = rest[n:]
	}
}

// answerExpecting copies the decisions of a batch without Expects to the original.
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

// fail answers all requests of a proposal with an error.
func (f *proposal) fail(err error) {
	for _, r := range f.requests {
		r.Done(err)
	}
}

// recycle reclaims the joined batches of a proposal after its requests were answered.
func (b *builder) recycle(f *proposal) {
	for _, p := range f.parts {
		if p.requests > 0 && len(b.spare) < maxSpareBatches {
			clear(p.batch.Ops) // they reference keys of other batches
			p.batch.Reset()
			b.spare = append(b.spare, p.batch)
		}
	}
}

const maxSpareBatches = 4
