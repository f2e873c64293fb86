package commit

import (
	"slices"

	"limitsrv/engine"
)

// A Builder makes groups of waiting requests. Concurrency: its owner's mutex guards it, or
// only one goroutine uses it.
type Builder[R Request] struct {
	// Encode appends a batch to the entry of the group that is being built, and returns
	// the length of the entry. The owner must empty the entry before Build.
	Encode func(stamp engine.Instant, b *engine.Batch) (entryBytes int)
	// Fingerprint returns the value for comparison with an Expect of the key.
	Fingerprint func(stamp engine.Instant, db uint8, key []byte) int64
	// MaxBytes is the length of an entry that starts the next entry. A single batch may be
	// longer.
	MaxBytes int
	// Level is the level of meaning of the calls; it may change between two Builds.
	Level uint8

	spare  []*engine.Batch // joined batches of answered groups
	groups []*Group[R]     // answered groups
}

// Build makes a group of as many of the first requests as fit, at least one. Requires: if
// the first request has Expects, all earlier groups are applied. A request with Expects is
// a group of its own, which is not Logged if they do not hold.
//
// The owner may change requests when Build has returned.
func (b *Builder[R]) Build(stamp engine.Instant, requests []R, room engine.Room) *Group[R] {
	g := b.newGroup(stamp)
	if first := requests[0].Batch(); Expects(first) {
		g.requests = append(g.requests, requests[0])
		switch rest := withoutExpects(first); {
		case !b.holds(stamp, first):
			decideAll(first, engine.Aborted)
		case len(rest.Ops) == 0:
			decideAll(first, engine.OK)
		default:
			b.add(g, rest, 1, room.Full)
		}
		return g
	}
	size := 0
	if len(room.Victims) > 0 {
		size = b.add(g, &engine.Batch{Ops: room.Victims}, 0, false)
	}
	n := 0
	for limit := size + min(b.MaxBytes, room.Bytes); n < len(requests) &&
		(n == 0 || size < limit && !Expects(requests[n].Batch())); {
		batch, joined := requests[n].Batch(), joinable(requests[n:])
		if joined > 1 {
			batch = b.join(requests[n : n+joined])
		}
		size = b.add(g, batch, joined, room.Full)
		n += joined
	}
	g.requests = append(g.requests, requests[:n]...)
	return g
}

// add appends a part of some requests to the group and the entry, and returns the length
// of the entry.
func (b *Builder[R]) add(g *Group[R], batch *engine.Batch, requests int, full bool) (entryBytes int) {
	batch.Full, batch.Tight, batch.Level = full, full, b.Level
	g.parts = append(g.parts, part{batch, requests})
	return b.Encode(g.Stamp, batch)
}

// holds reports whether all Expects of a batch hold.
func (b *Builder[R]) holds(stamp engine.Instant, batch *engine.Batch) bool {
	for i := range batch.Ops {
		if op := &batch.Ops[i]; op.Kind == engine.Expect && b.Fingerprint(stamp, op.DB, op.Key) != op.Expected() {
			return false
		}
	}
	return true
}

// withoutExpects returns a copy of a batch without its Expects. It shares the calls.
func withoutExpects(b *engine.Batch) *engine.Batch {
	return &engine.Batch{Ops: slices.DeleteFunc(slices.Clone(b.Ops), isExpect), Calls: b.Calls, Atomic: true,
		AnswerBytes: b.AnswerBytes, Origin: b.Origin}
}

// decideAll sets the decisions of a batch to a status.
func decideAll(b *engine.Batch, status engine.Status) {
	b.Decisions = b.Decisions[:0]
	for range b.Ops {
		b.Decisions = append(b.Decisions, engine.Decision{Status: status})
	}
}

const (
	// joinedOps is the number of ops that completes a joined batch.
	joinedOps = 2048
	// joinedAnswers bounds the answers of a joined batch in bytes. Sessions with long answers
	// reserve room; this bound is for many sessions that unexpectedly get long answers at once.
	joinedAnswers = 128 << 20
	// maxSpare bounds the joined batches, and the groups, that are kept for reuse.
	maxSpare = 4
)

// joinable returns the number of requests at the start that form a part: a request, or several
// that are not Atomic and have no Origin.
func joinable[R Request](requests []R) (n int) {
	for ops := 0; n < len(requests) && !requests[n].Batch().Atomic && requests[n].Batch().Origin == 0 &&
		ops < joinedOps; n++ {
		ops += len(requests[n].Batch().Ops)
	}
	return max(n, 1)
}

// join returns a batch of the ops of some requests.
func (b *Builder[R]) join(requests []R) *engine.Batch {
	var all *engine.Batch
	if n := len(b.spare); n > 0 {
		all, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		all = new(engine.Batch)
	}
	for _, r := range requests {
		all.Join(r.Batch())
	}
	all.AnswerBytes = joinedAnswers
	return all
}

func (b *Builder[R]) newGroup(stamp engine.Instant) *Group[R] {
	n := len(b.groups)
	if n == 0 {
		return &Group[R]{Stamp: stamp}
	}
	g := b.groups[n-1]
	b.groups, g.Stamp = b.groups[:n-1], stamp
	return g
}

// Recycle reclaims the memory of a group. Requires: its requests were answered, and nobody
// uses the group later, not even to claim it.
func (b *Builder[R]) Recycle(g *Group[R]) {
	for _, p := range g.parts {
		if p.requests > 1 && len(b.spare) < maxSpare {
			clear(p.batch.Ops) // they reference keys of other batches, and calls their arguments
			clear(p.batch.Calls)
			p.batch.Reset()
			b.spare = append(b.spare, p.batch)
		}
	}
	if len(b.groups) < maxSpare {
		clear(g.parts)
		clear(g.requests)
		g.parts, g.requests = g.parts[:0], g.requests[:0]
		g.state.Store(pending)
		b.groups = append(b.groups, g)
	}
}
