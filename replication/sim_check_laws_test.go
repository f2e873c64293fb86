package replication

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// A simPlay makes a history by hand: its nodes are engines that apply given ops.
type simPlay struct {
	*simHistory
	nodes [2]struct {
		replay simReplay
		engine *engine.Engine
	}
	index uint64
}

func newSimPlay() *simPlay {
	p := &simPlay{simHistory: newSimHistory()}
	for i := range p.nodes {
		p.nodes[i].replay = simReplay{history: p.simHistory, node: string(rune('a' + i))}
		p.nodes[i].engine = engine.New(engine.Options{})
	}
	return p
}

func simCounterTake(key string, n int64) engine.Op {
	return engine.Op{Key: []byte(key), N: n, Params: engine.Params{Alg: engine.Fixed, Limit: 3, Period: simtest.Forever}}
}

func simBucketTake(key string, n int64) engine.Op {
	return engine.Op{Key: []byte(key), N: n,
		Params: engine.Params{Alg: engine.Token, Limit: 3, Count: 1, Period: int64(time.Second)}}
}

// apply applies ops as an entry on nodes, and returns the last node's decisions.
func (p *simPlay) apply(index uint64, stamp engine.Instant, ops []engine.Op, nodes ...int) []engine.Decision {
	var b engine.Batch
	for _, i := range nodes {
		n := &p.nodes[i]
		b.Ops = slices.Clone(ops)
		n.engine.Apply(stamp, &b)
		n.replay.applied(index, stamp, &b)
	}
	return b.Decisions
}

// call makes a call, applies it on both nodes and answers it, a millisecond apart.
func (p *simPlay) call(ops ...engine.Op) *simtest.Call {
	c := p.request(ops...)
	p.index++
	d := p.apply(p.index, simStamp(), c.Ops, 0, 1)
	p.answer(c, simtest.Answered, d)
	return c
}

func (p *simPlay) request(ops ...engine.Op) *simtest.Call {
	time.Sleep(time.Millisecond)
	return p.Begin("a", simtest.Request{Ops: ops, Atomic: len(ops) > 2})
}

func (p *simPlay) answer(c *simtest.Call, outcome simtest.Outcome, d []engine.Decision) {
	time.Sleep(time.Millisecond)
	p.Finish(c, outcome, &engine.Batch{Decisions: d})
}

// transaction watches a key, makes a call between, and then uses the key.
func (p *simPlay) transaction(key string, between engine.Op) {
	saw := p.request(engine.Op{Kind: engine.Watch, Key: []byte(key)})
	p.answer(saw, simtest.Answered, []engine.Decision{{Remaining: 1}})
	p.call(between)
	then := p.request(engine.Op{Kind: engine.Expect, Key: []byte(key), N: 1}, simCounterTake(key, 1))
	p.index++
	d := p.apply(p.index, simStamp(), then.Ops[1:], 0, 1)
	p.answer(then, simtest.Answered, append([]engine.Decision{{}}, d...))
	p.Watch(simtest.Watched{Read: saw, Use: then})
}

func simStamp() engine.Instant { return engine.Instant(time.Now().UnixNano()) }

func TestSimHistory(t *testing.T) {
	yes := []engine.Decision{{Allowed: 1, Remaining: 2}}
	for _, tt := range []struct {
		name string
		play func(p *simPlay)
		want string // in a fault; empty: no error
	}{
		{"no fault", func(p *simPlay) {
			for range 5 {
				p.call(simCounterTake("k", 1), simBucketTake("b", 2))
			}
			p.call(engine.Op{Kind: engine.Peek, Key: []byte("k")})
		}, ""},
		{"the unknown was applied", func(p *simPlay) {
			c := p.request(simCounterTake("k", 3))
			p.answer(c, simtest.Unknown, nil)
			p.apply(1, simStamp(), c.Ops, 0, 1)
			p.index = 1
			p.call(simCounterTake("k", 1))
		}, ""},
		{"the unknown was not applied", func(p *simPlay) {
			p.answer(p.request(simCounterTake("k", 3)), simtest.Unknown, nil)
			p.call(simCounterTake("k", 1))
		}, ""},
		{"a look is not in the log", func(p *simPlay) {
			p.answer(p.request(simCounterTake("k", 0)), simtest.Answered, []engine.Decision{{Allowed: 1, Remaining: 3}})
		}, ""},
		{"a call without an answer", func(p *simPlay) { p.request(simCounterTake("k", 1)) }, "never answered"},
		{"refused and done", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1))
			p.answer(c, simtest.Refused, nil)
			p.apply(1, simStamp(), c.Ops, 0)
		}, "was refused, at"},
		{"answered without a majority and done", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1))
			p.answer(c, simtest.NoQuorum, yes)
			p.apply(1, simStamp(), c.Ops, 0)
		}, "was alone, at"},
		{"answered without a majority", func(p *simPlay) {
			for range 4 {
				p.answer(p.request(simCounterTake("k", 1)), simtest.NoQuorum, yes)
			}
		}, ""},
		{"a key that changed in between", func(p *simPlay) { p.transaction("k", simCounterTake("k", 1)) }, "came between"},
		{"another key that changed in between", func(p *simPlay) { p.transaction("k", simCounterTake("j", 1)) }, ""},
		{"an Expect that did not hold", func(p *simPlay) {
			c := p.request(engine.Op{Kind: engine.Expect, Key: []byte("k"), N: 1}, simCounterTake("k", 1))
			p.answer(c, simtest.Answered, []engine.Decision{{Status: engine.Aborted}, {Status: engine.Aborted}})
		}, ""},
		{"a key that is dropped", func(p *simPlay) {
			p.Bounded = true
			p.call(simCounterTake("k", 3))
			p.index++
			p.apply(p.index, simStamp(), []engine.Op{{Kind: engine.Forget, Key: []byte("k")}}, 0, 1)
			p.call(simCounterTake("k", 3))
		}, ""},
		{"a key that is dropped where there is room", func(p *simPlay) {
			p.call(simCounterTake("k", 3))
			p.apply(2, simStamp(), []engine.Op{{Kind: engine.Forget, Key: []byte("k")}}, 0, 1)
		}, "no call requested"},

		{"answered and lost", func(p *simPlay) { p.answer(p.request(simCounterTake("k", 1)), simtest.Answered, yes) },
			"is not in the log"},
		{"another answer", func(p *simPlay) {
			c := p.request(simCounterTake("k", 2))
			p.apply(1, simStamp(), c.Ops, 0)
			p.answer(c, simtest.Answered, yes)
		}, "was answered\n"},
		{"applied twice", func(p *simPlay) {
			c := p.call(simCounterTake("k", 1))
			p.apply(2, simStamp(), c.Ops, 0, 1)
		}, "in entry 1, and again in 2"},
		{"one decides otherwise", func(p *simPlay) {
			p.nodes[1].engine.Apply(simStamp(), &engine.Batch{Ops: []engine.Op{simCounterTake("k", 1)}})
			p.call(simCounterTake("k", 1))
		}, "b applied another batch 0 of entry 1"},
		{"both decide otherwise", func(p *simPlay) {
			for i := range p.nodes {
				p.nodes[i].engine.Apply(simStamp(), &engine.Batch{Ops: []engine.Op{simCounterTake("k", 1)}})
			}
			p.call(simCounterTake("k", 1))
		}, "decided\n got"},
		{"another entry", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1), simCounterTake("k", 1))
			p.answer(c, simtest.Unknown, nil)
			p.apply(1, simStamp(), c.Ops[:1], 0)
			p.apply(1, simStamp(), c.Ops[1:], 1)
		}, "b applied another batch 0 of entry 1"},
		{"an entry that is longer", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1), simCounterTake("k", 1))
			p.answer(c, simtest.Unknown, nil)
			p.apply(1, simStamp(), c.Ops[:1], 0, 1)
			p.call(simCounterTake("j", 1)) // also entry 1
			p.call(simCounterTake("j", 1))
			p.nodes[1].replay = simReplay{history: p.simHistory, node: "b"}
			p.apply(1, simStamp(), c.Ops[1:], 1)
		}, "applied another batch 0 of entry 1"},
		{"an entry that is shorter", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1), simCounterTake("k", 1))
			p.answer(c, simtest.Unknown, nil)
			stamp := simStamp()
			p.apply(1, stamp, c.Ops[:1], 0, 1)
			p.apply(1, stamp, c.Ops[1:], 0)
			p.index = 1
			p.call(simCounterTake("k", 1))
		}, "b applied 1 batches of entry 1, others 2"},
		{"an entry applied twice by one", func(p *simPlay) {
			c := p.call(simCounterTake("k", 1))
			p.apply(1, simStamp(), c.Ops, 1)
		}, "in entry 1, and again in 1"},
		{"an entry applied again after a snapshot", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1))
			stamp := simStamp()
			d := p.apply(1, stamp, c.Ops, 0, 1)
			p.answer(c, simtest.Answered, d)
			p.nodes[1].engine = engine.New(engine.Options{})
			p.nodes[1].replay.restored(nil, 1)
			p.apply(1, stamp, c.Ops, 1)
			p.index = 1
			p.call(simCounterTake("j", 1))
		}, ""},
		{"an entry too late", func(p *simPlay) {
			p.index = 5
			p.call(simCounterTake("k", 1))
			c := p.request(simCounterTake("k", 1))
			p.answer(c, simtest.Unknown, nil)
			p.nodes[1].replay = simReplay{history: p.simHistory, node: "b"}
			p.apply(3, simStamp(), c.Ops, 1)
		}, "of entry 3, which no other node did"},
		{"time goes back", func(p *simPlay) {
			p.call(simCounterTake("k", 1))
			c := p.request(simCounterTake("k", 1))
			p.answer(c, simtest.Unknown, nil)
			p.apply(2, simStamp()-engine.Instant(time.Second), c.Ops, 0, 1)
		}, "the entry before it at"},
		{"an op without a call", func(p *simPlay) { p.apply(1, simStamp(), []engine.Op{simCounterTake("k", 1)}, 0, 1) },
			"no call requested"},
		{"one by one and not at once", func(p *simPlay) {
			p.call(simCounterTake("k", 1), simCounterTake("j", 1), simCounterTake("i", 1))
		}, "was to be applied at once"},
		{"ops in another order", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1), simCounterTake("j", 1))
			p.answer(c, simtest.Unknown, nil)
			p.apply(1, simStamp(), []engine.Op{c.Ops[1], c.Ops[0]}, 0, 1)
		}, "in another order"},
		{"later before earlier", func(p *simPlay) {
			c := p.request(simCounterTake("k", 1))
			p.answer(c, simtest.Answered, []engine.Decision{{Allowed: 1, Remaining: 1, Changed: true, Params: c.Ops[0].Params}})
			p.call(simCounterTake("k", 1))
			p.apply(2, simStamp(), c.Ops, 0, 1)
		}, "before one of entry"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newSimPlay()
			tt.play(p)
			faults := p.check()
			switch {
			case tt.want == "" && len(faults) > 0:
				t.Errorf("%s: %q, want no fault", tt.name, faults)
			case tt.want != "" && !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tt.want) }):
				t.Errorf("%s: %q, want one with %q", tt.name, faults, tt.want)
			}
		})
	}
}

// TestSimClaims makes answers without a log, which only checkCounters and checkEarned
// verify.
func TestSimClaims(t *testing.T) {
	answer := func(p *simPlay, allowed, remaining int64) {
		p.answer(p.request(simCounterTake("k", 1)), simtest.Answered,
			[]engine.Decision{{Allowed: allowed, Remaining: remaining}})
	}
	for _, tt := range []struct {
		name string
		play func(p *simPlay)
		want string
	}{
		{"more than there is", func(p *simPlay) {
			for range 4 {
				answer(p, 1, 0)
			}
		}, "k gave 4 of 3"},
		{"less used than given", func(p *simPlay) { answer(p, 1, 2) }, "of k 0 are used at the end, clients were given 1"},
		{"more used than given", func(p *simPlay) {
			c := p.request(simCounterTake("k", 2))
			p.apply(1, simStamp(), c.Ops, 0)
			p.answer(c, simtest.Refused, nil)
		}, "of k 2 are used at the end, clients were given 0 and perhaps 0"},
		{"refused without reason", func(p *simPlay) { answer(p, 0, 3) }, "can't be put into an order"},
		{"answers in a wrong order", func(p *simPlay) { answer(p, 1, 1); answer(p, 1, 2) }, "can't be put into an order"},
		{"a bucket that gives too soon", func(p *simPlay) {
			c := p.request(simBucketTake("b", 2), simBucketTake("b", 2))
			for i := range c.Ops {
				p.Ops = append(p.Ops, simtest.Applied{Op: &c.Ops[i], Stamp: engine.Instant(i) * 999e6,
					Decision: engine.Decision{Allowed: 1}})
			}
		}, "b gave 0.001 more than it had"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newSimPlay()
			tt.play(p)
			p.CheckCounters()
			p.CheckEarned()
			if !slices.ContainsFunc(p.Faults, func(f string) bool { return strings.Contains(f, tt.want) }) {
				t.Errorf("%s: %q, want one with %q", tt.name, p.Faults, tt.want)
			}
		})
	}
}
