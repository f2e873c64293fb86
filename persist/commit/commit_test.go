package commit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
)

// A testRequest counts its answers.
type testRequest struct {
	batch   *engine.Batch
	alone   *engine.Batch // a copy for the reference model
	answers int
	err     error
}

func (r *testRequest) Batch() *engine.Batch { return r.batch }
func (r *testRequest) Answer(err error)     { r.answers, r.err = r.answers+1, err }

// A pipeline commits requests to an engine, and keeps a log of copies of the batches.
type pipeline struct {
	t       *testing.T
	e       *engine.Engine
	bound   engine.Bound
	builder Builder[*testRequest]
	queue   Queue[*testRequest]
	pending []*Group[*testRequest] // built and not applied
	now     engine.Instant
	size    int // of the entry that is being built
	stamps  []engine.Instant
	log     []*engine.Batch
}

const (
	second  = 1_000_000_000
	opBytes = 30 // length of an op in the entries of a pipeline
)

func newPipeline(t *testing.T) *pipeline {
	p := &pipeline{t: t, e: engine.New(engine.Options{Shards: 2}), now: 1_700_000_000 * second}
	p.builder.MaxBytes = 100 * opBytes
	p.builder.Fingerprint = p.e.Fingerprint
	p.builder.Encode = func(stamp engine.Instant, b *engine.Batch) int {
		p.stamps, p.log = append(p.stamps, stamp),
			append(p.log, &engine.Batch{Ops: slices.Clone(b.Ops), Atomic: b.Atomic, Full: b.Full})
		p.size += opBytes * len(b.Ops)
		return p.size
	}
	return p
}

// build makes a group of the waiting requests.
func (p *pipeline) build() *Group[*testRequest] {
	if Expects(p.queue.First().batch) || p.bound.Exceeded(p.e, p.queue.First().batch) {
		p.applyAll()
	}
	p.size = 0
	all := p.queue.Take()
	g := p.builder.Build(p.now, all, p.bound.Room(p.e, p.now, p.now, all[0].batch))
	p.queue.Return(all[g.Len():], all)
	p.pending = append(p.pending, g)
	return g
}

// applyAll applies and answers the pending groups.
func (p *pipeline) applyAll() {
	for _, g := range p.pending {
		if !g.Claim() || g.Claim() || g.Abandon() || !g.Claimed() {
			p.t.Fatal("a group was not claimed exactly once")
		}
		for b := range g.Batches {
			p.e.Apply(g.Stamp, b)
		}
		g.Answer(nil)
		p.builder.Recycle(g)
	}
	p.pending = nil
}

// commit commits batches of a single op each, in groups.
func (p *pipeline) commit(ops ...engine.Op) (decisions []engine.Decision) {
	var requests []*testRequest
	for _, op := range ops {
		requests = append(requests, &testRequest{batch: &engine.Batch{Ops: []engine.Op{op}}})
		p.queue.Add(requests[len(requests)-1])
	}
	for p.queue.Len() > 0 {
		p.build()
	}
	p.applyAll()
	for _, r := range requests {
		decisions = append(decisions, r.batch.Decisions...)
	}
	return decisions
}

// checkReplay applies the log to an engine without a bound.
func (p *pipeline) checkReplay() {
	p.t.Helper()
	replica := engine.New(engine.Options{Shards: 2})
	for i, b := range p.log {
		replica.Apply(p.stamps[i], b)
	}
	if got, want := replica.Digest(p.now), p.e.Digest(p.now); got != want {
		p.t.Errorf("a replay of %d batches has the digest %x, want %x", len(p.log), got, want)
	}
}

func take(key string, n int64) engine.Op {
	return engine.Op{Kind: engine.Take, Key: []byte(key), N: n,
		Params: engine.Params{Alg: engine.Fixed, Limit: 20, Period: 60 * second}}
}

// random returns a request of a few ops; some are transactions, of these some watch a key.
func (p *pipeline) random(r *rand.Rand) *testRequest {
	key := func() string { return fmt.Sprint("key ", r.IntN(12)) }
	b := &engine.Batch{Atomic: r.IntN(4) == 0}
	if b.Atomic && r.IntN(2) == 0 {
		watched := []byte(key())
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Expect, Key: watched, N: p.e.Fingerprint(p.now, 0, watched)})
	}
	for range r.IntN(5) {
		switch op := take(key(), r.Int64N(4)); r.IntN(8) {
		case 0:
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: op.Key})
		case 1:
			op.Group = 2
			b.Ops = append(b.Ops, op, take(key(), 1))
		default:
			b.Ops = append(b.Ops, op)
		}
	}
	return &testRequest{batch: b, alone: &engine.Batch{Ops: slices.Clone(b.Ops), Atomic: b.Atomic}}
}

// TestCommitAlone compares the decisions of requests in groups with the decisions of each
// request applied alone, in order, by an engine that checks the Expects itself.
func TestCommitAlone(t *testing.T) {
	aborted, held, joined := 0, 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, model := newPipeline(t), engine.New(engine.Options{Shards: 2})
		var order []*testRequest
		var stamps []engine.Instant
		for range 60 {
			for range r.IntN(12) {
				p.queue.Add(p.random(r))
			}
			for p.queue.Len() > 0 && r.IntN(5) > 0 {
				g := p.build()
				for _, one := range g.Requests() {
					order, stamps = append(order, one), append(stamps, g.Stamp)
				}
				if g.Len() > 1 {
					joined++
				}
			}
			if r.IntN(2) == 0 {
				p.applyAll()
			}
			p.now += engine.Instant(r.IntN(9 * second))
		}
		p.applyAll()
		for i, one := range order {
			model.Apply(stamps[i], one.alone)
			if one.answers != 1 || one.err != nil || !slices.Equal(one.batch.Decisions, one.alone.Decisions) {
				t.Fatalf("seed %d: request %d: %d answers, %v\n got %+v\nwant %+v", seed, i, one.answers, one.err,
					one.batch.Decisions, one.alone.Decisions)
			}
			switch {
			case !Expects(one.batch):
			case one.batch.Decisions[0].Status == engine.Aborted:
				aborted++
			default:
				held++
			}
		}
		p.checkReplay()
	}
	if aborted == 0 || held == 0 || joined == 0 {
		t.Errorf("%d transactions aborted, %d not, %d groups of several requests: want some of each", aborted, held, joined)
	}
}

// TestBuildLimits checks which of the waiting requests go into the first group.
func TestBuildLimits(t *testing.T) {
	plain := func(ops int) *engine.Batch { return &engine.Batch{Ops: slices.Repeat([]engine.Op{take("k", 1)}, ops)} }
	atomic := func(ops int) *engine.Batch { return &engine.Batch{Ops: plain(ops).Ops, Atomic: true} }
	watched := &engine.Batch{Ops: append([]engine.Op{{Kind: engine.Expect, Key: []byte("other")}}, take("k", 1)),
		Atomic: true}
	changed := &engine.Batch{Ops: append([]engine.Op{{Kind: engine.Expect, Key: []byte("k"), N: 7}}, take("k", 1)),
		Atomic: true}
	watches := &engine.Batch{Ops: watched.Ops[:1], Atomic: true}
	for _, tt := range []struct {
		name    string
		waiting []*engine.Batch
		room    engine.Room
		taken   int
		logged  []int // ops of each batch
	}{
		{"one", []*engine.Batch{plain(1)}, engine.Room{Bytes: 1e6}, 1, []int{1}},
		{"several are joined", []*engine.Batch{plain(1), plain(2), plain(3)}, engine.Room{Bytes: 1e6}, 3, []int{6}},
		{"a transaction stays separate", []*engine.Batch{plain(1), plain(1), atomic(2), atomic(3), plain(1)},
			engine.Room{Bytes: 1e6}, 5, []int{2, 2, 3, 1}},
		{"a full entry ends the group", []*engine.Batch{atomic(99), atomic(1), atomic(1)}, engine.Room{Bytes: 1e6}, 2,
			[]int{99, 1}},
		{"a batch longer than an entry", []*engine.Batch{atomic(500), plain(1)}, engine.Room{Bytes: 1e6}, 1, []int{500}},
		{"little room ends the group", []*engine.Batch{atomic(1), atomic(1), atomic(1)}, engine.Room{Bytes: 2 * opBytes}, 2,
			[]int{1, 1}},
		{"a joined batch is complete", []*engine.Batch{plain(2000), plain(48), plain(1)}, engine.Room{Bytes: 1e6}, 2,
			[]int{2048}},
		{"a true Expect is not logged", []*engine.Batch{watched, plain(1)}, engine.Room{Bytes: 1e6}, 1, []int{1}},
		{"a true Expect alone", []*engine.Batch{watches, plain(1)}, engine.Room{Bytes: 1e6}, 1, nil},
		{"a false Expect", []*engine.Batch{changed, plain(1)}, engine.Room{Bytes: 1e6}, 1, nil},
		{"an Expect ends the group", []*engine.Batch{plain(1), plain(1), watched}, engine.Room{Bytes: 1e6}, 2, []int{2}},
		{"victims come first", []*engine.Batch{plain(1)},
			engine.Room{Bytes: 1, Victims: []engine.Op{take("v", 1), take("w", 1)}}, 1, []int{2, 1}},
	} {
		p := newPipeline(t)
		var requests []*testRequest
		for _, b := range tt.waiting {
			requests = append(requests, &testRequest{batch: b})
		}
		g := p.builder.Build(p.now, requests, tt.room)
		var logged []int
		for _, b := range p.log {
			logged = append(logged, len(b.Ops))
		}
		if g.Len() != tt.taken || !slices.Equal(logged, tt.logged) || g.Logged() != (len(tt.logged) > 0) {
			t.Errorf("%s: %d requests in batches of %v ops, want %d in %v", tt.name, g.Len(), logged, tt.taken, tt.logged)
		}
	}
}

func TestQueueKeepsOrder(t *testing.T) {
	for keep := range 4 {
		var q Queue[int]
		for i := range 3 {
			q.Add(i)
		}
		all := q.Take()
		q.Add(3)
		q.Return(all[3-keep:], all)
		want := []int{0, 1, 2, 3}[3-keep:]
		if q.Len() != len(want) || q.First() != want[0] || !slices.Equal(q.Take(), want) {
			t.Errorf("after %d of 3 were returned, the queue is not %v", keep, want)
		}
	}
}

func TestGroupIsClaimedOnce(t *testing.T) {
	g := new(Group[*testRequest])
	if !g.Abandon() || g.Claim() || g.Abandon() || g.Claimed() {
		t.Error("an abandoned group was claimed")
	}
}
