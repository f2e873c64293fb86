package reservations_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// commands are the calls of this package, with their numbers.
var commands = &spec.Calls{4: reservations.Calls{}}

// params returns parameters of any algorithm that counts. They regain fast.
func params(rng *rand.Rand) engine.Params {
	var counted []engine.Alg
	for alg := range engine.Algs() {
		if alg.IsCounted() {
			counted = append(counted, alg)
		}
	}
	p := engine.Params{Alg: counted[rng.IntN(len(counted))], Limit: 3 + rng.Int64N(6),
		Period: int64(time.Second) * (1 + rng.Int64N(9))}
	if p.Alg.Usage().Period == engine.Rate {
		p.Count, p.Period = 1, p.Period/8
	}
	return p
}

var box = func() engine.Params {
	p := engine.Penalty{After: 2, Within: int64(9 * time.Second), Block: int64(5 * time.Second),
		Max: int64(time.Minute), Forgive: int64(time.Minute), Growth: 200}
	return p.Params()
}()

// request returns the ops of a request, with a hash that names the form and the numbers.
func request(rng *rand.Rand) (ops []engine.Op) {
	take := func() engine.Op {
		p := params(rng)
		return engine.Op{Params: p, N: rng.Int64N(5), Key: fmt.Appendf(nil, "%v %d", p.Alg, rng.IntN(2))}
	}
	as := func(kind engine.Kind, mode engine.Mode) engine.Op {
		op := take()
		op.Kind, op.Mode = kind, mode
		return op
	}
	switch rng.IntN(8) {
	case 0, 1:
		ops = []engine.Op{as(engine.Take, engine.Mode(rng.IntN(4)))}
	case 2:
		ops = []engine.Op{as(engine.Charge, []engine.Mode{engine.Fit, engine.Partial}[rng.IntN(2)])}
	case 3:
		ops = []engine.Op{as(engine.Refund, engine.Fit)}
		if ops[0].Params = (engine.Params{}); rng.IntN(2) == 0 {
			ops[0].SetAge(rng.Int64N(int64(9 * time.Second)))
		}
	case 4:
		ops = []engine.Op{take(), take(), take()}
	case 5:
		ops = []engine.Op{engine.NeedsOf(engine.Rules, uint64(rng.IntN(9)/8), 2), as(engine.Take, engine.AnyOf),
			as(engine.Take, engine.Shadow)}
	case 6:
		guard := engine.Op{Mode: engine.Guard, Params: box, N: 1, Key: []byte("box")}
		ops = []engine.Op{engine.NeedsOf(engine.Rules, 0, 3), guard, take(), take()}
	default:
		ops = []engine.Op{engine.NeedsOf(engine.Rules, 0, 2), as(engine.Charge, engine.Fit),
			as(engine.Refund, engine.Fit)}
	}
	if len(ops) > 1 {
		ops[0].Group = uint8(len(ops))
	}
	return ops
}

// A remembered is a request that has acted.
type remembered struct {
	ops     []engine.Op
	until   int64 // in milliseconds
	hash    uint64
	allowed []int64
}

// A pair has an engine that gets requests with ids, as often as they are delivered, and a model that
// gets each request that may act, once and without an id.
type pair struct {
	t           *testing.T
	with, model *engine.Engine
	now         engine.Instant
	acted       map[string]*remembered
}

func newPair(t *testing.T) *pair {
	o := engine.Options{Shards: 4, Seed: [16]byte{3}, Commands: commands}
	return &pair{t: t, with: engine.New(o), model: engine.New(o), now: 1e18, acted: map[string]*remembered{}}
}

// apply applies ops to an engine.
func (p *pair) apply(e *engine.Engine, ops []engine.Op) []engine.Decision {
	b := engine.Batch{Ops: append([]engine.Op(nil), ops...)}
	e.Apply(p.now, &b)
	return b.Decisions
}

// deliver delivers a request with an id to the engine, and compares its answer with the model.
func (p *pair) deliver(id string, r *remembered) {
	p.t.Helper()
	b := engine.Batch{Ops: append([]engine.Op(nil), r.ops...)}
	const remember = 4 * time.Second
	reservations.Wrap(&b, 0, []byte(id), int64(remember), r.hash)
	if err := commands.Check(&b.Calls[0]); err != nil {
		p.t.Fatalf("%+v: %v", r.ops, err)
	}
	p.with.Apply(p.now, &b)
	var reply reservations.Reply
	err := reply.Read(&b.Calls[0])
	was := p.acted[id]
	switch {
	case was != nil && p.now.Millis() > was.until:
		delete(p.acted, id)
		was = nil
	case was != nil && was.hash != r.hash && !p.isStale(r):
		if err == nil || err.(*resp.Error).Code != "BUSYKEY" {
			p.t.Fatalf("%+v is another request of id %s: %v", r.ops, id, err)
		}
		return
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if was != nil && !p.isStale(r) {
		p.compareRepeat(was, &reply)
		return
	}
	want := p.apply(p.model, r.ops)
	for i, d := range reply.Decisions {
		if d != want[i] {
			p.t.Fatalf("decision %d on %+v is\n%+v, without an id\n%+v", i, r.ops, d, want[i])
		}
	}
	if remembers(r.ops, want) {
		r.until, r.allowed = (p.now + engine.Instant(remember) + 1e6 - 1).Millis(), nil
		for _, d := range want {
			r.allowed = append(r.allowed, d.Allowed)
		}
		p.acted[id] = r
	}
}

// isStale reports whether a request is of rules that are not in force.
func (p *pair) isStale(r *remembered) bool { return r.ops[0].Kind == engine.Needs && r.ops[0].N != 0 }

// compareRepeat compares the answer to a request that has acted with the answer of then.
func (p *pair) compareRepeat(was *remembered, reply *reservations.Reply) {
	p.t.Helper()
	if !reply.Repeated {
		p.t.Fatalf("%+v acts again: %+v", was.ops, reply.Decisions)
	}
	for i, d := range reply.Decisions {
		op := was.ops[i]
		if d.Allowed != was.allowed[i] {
			p.t.Fatalf("%+v: op %d is answered %d, and was answered %d", was.ops, i, d.Allowed, was.allowed[i])
		}
		if op.Kind != engine.Take || op.Mode == engine.Guard {
			continue
		}
		op.N, op.Mode, op.Group, op.ID = 0, 0, 0, nil
		if now := p.apply(p.model, []engine.Op{op})[0]; d.Remaining != now.Remaining || d.Reset != now.Reset {
			p.t.Fatalf("%+v: op %d is answered %+v, a look %+v", was.ops, i, d, now)
		}
	}
}

// remembers reports whether decisions without an id must be remembered.
func remembers(ops []engine.Op, ds []engine.Decision) bool {
	looks := true
	for _, op := range ops {
		looks = looks && (op.N == 0 || op.Kind == engine.Needs)
	}
	switch first := &ds[0]; {
	case looks || first.Status != engine.OK:
		return false
	case len(ops) == 1:
		return ops[0].Kind != engine.Take || first.Allowed > 0
	case ops[1].Kind == engine.Charge:
		return true
	case ops[0].Kind == engine.Needs:
		return engine.Passed(ops[1:], ds[1:])
	}
	return engine.Passed(ops, ds)
}

// compare compares all limits.
func (p *pair) compare() {
	p.t.Helper()
	for alg := range engine.Algs() {
		for i := range 2 {
			peek := []engine.Op{{Kind: engine.Peek, Key: fmt.Appendf(nil, "%v %d", alg, i)}}
			if got, want := p.apply(p.with, peek)[0], p.apply(p.model, peek)[0]; got != want {
				p.t.Fatalf("%s is\n%+v, want\n%+v", peek[0].Key, got, want)
			}
		}
	}
}

// TestOnce is the law of ids: whatever is delivered, and however often, each limit is as if each request
// that acted had been delivered once, without its id.
func TestOnce(t *testing.T) {
	seed := testwait.Seed(t)
	repeats := 0
	for run := range 20 {
		rng := rand.New(rand.NewPCG(seed, uint64(run)))
		p := newPair(t)
		var sent []*remembered
		for range 200 {
			p.now += engine.Instant(rng.Int64N(int64(700 * time.Millisecond)))
			r := &remembered{ops: request(rng), hash: rng.Uint64()}
			if len(sent) > 0 && rng.IntN(3) > 0 {
				old := sent[max(0, len(sent)-1-rng.IntN(6))]
				r = &remembered{ops: old.ops, hash: old.hash}
			}
			sent = append(sent, r)
			id := fmt.Sprint("id ", rng.IntN(4))
			if rng.IntN(3) > 0 {
				id = fmt.Sprint("id ", r.hash%8)
			}
			if p.acted[id] != nil && p.acted[id].hash == r.hash {
				repeats++
			}
			if rng.IntN(30) == 0 {
				p.apply(p.with, []engine.Op{{Kind: engine.Forget, Key: []byte(id)}})
				delete(p.acted, id)
			}
			p.deliver(id, r)
			p.compare()
		}
	}
	if repeats == 0 {
		t.Error("no request was repeated")
	}
}
