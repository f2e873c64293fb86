package simtest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A play makes a history by hand, with one node.
type play struct {
	History
	node  *engine.Engine
	now   engine.Instant
	index uint64
}

func newPlay() *play {
	o := engine.Options{Shards: 1, Commands: Commands}
	return &play{History: NewHistory(engine.New(o)), node: engine.New(o), now: 1_700_000_000_000_000_000}
}

// command returns a request of a command on database 0.
func command(name string, args ...string) (r Request) {
	r.do(0, name, args...)
	return r
}

func windowOf() (r Request) {
	r.do(0, "INCR", windowPrefix)
	r.do(0, "PEXPIRE", windowPrefix, strconv.Itoa(windowMillis), "NX")
	r.Atomic = true
	return r
}

// runOf returns a request of a run of a script.
func runOf(run Run, keys ...string) (r Request) {
	r.run(0, false, run, keys...)
	return r
}

// call makes a call, applies it, and answers it, unless change alters the answers.
func (p *play) call(r Request, change func(b *engine.Batch)) {
	c := p.Begin("a node", r)
	b := c.Batch()
	p.node.SetMoments(p.now, b)
	p.node.Apply(p.now, b)
	p.index++
	p.Apply(p.index, p.now, b)
	if change != nil {
		change(b)
	}
	time.Sleep(time.Microsecond) // so that it ends after it began
	p.Finish(c, Answered, b)
}

// lose makes a call, and the log lacks it.
func (p *play) lose(r Request) {
	c := p.Begin("a node", r)
	b := c.Batch()
	p.node.Apply(p.now, b)
	p.Finish(c, Answered, b)
}

// TestPlainChecks: each check finds the fault that it is for.
func TestPlainChecks(t *testing.T) {
	const key, lock = plainPrefix + "1", lockPrefix + "1"
	incr, held := command("INCR", key), command("SET", lock, "held", "NX", "PX", strconv.Itoa(windowMillis))
	const admitted, spaced = admittedPrefix + "1", spacedPrefix + "1"
	two, anywhere := runOf(Run{admit, admitted, 2, 5}, admitted), runOf(Run{admitAnywhere, admitted, 2, 5})
	inWindow := runOf(Run{admitInWindow, spaced, spacedMicros, spacedLimit}, spaced)
	forget := func(p *play, key string) {
		p.Engine.Apply(p.now, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte(key)}}})
	}
	for _, tt := range []struct {
		name string
		play func(p *play)
		want string // in a fault; empty: no fault
	}{
		{"no fault", func(p *play) {
			for range 5 {
				p.call(incr, nil)
				p.call(command("GET", key), nil)
				p.call(windowOf(), nil)
				p.call(held, nil)
				p.call(two, nil)
				p.call(anywhere, nil)
				p.call(inWindow, nil)
				p.call(inWindow, nil)
				p.now += windowMillis * 4e5
			}
		}, ""},
		{"another answer", func(p *play) {
			p.call(incr, func(b *engine.Batch) { b.Calls[0].Answer = answer.AppendInt(nil, 2) })
		}, "entry 1 answers"},
		{"a number told twice", func(p *play) {
			p.call(incr, nil)
			p.call(incr, func(b *engine.Batch) { b.Calls[0].Answer = answer.AppendInt(nil, 1) })
		}, "told to be 1 twice"},
		{"a number that was lost", func(p *play) { p.lose(incr) }, "is not in the log"},
		{"a number that is forgotten", func(p *play) {
			p.call(incr, nil)
			forget(p, key)
		}, "0 are used at the end, clients were given 1"},
		{"an old number read", func(p *play) {
			p.call(incr, nil)
			p.call(command("GET", key), func(b *engine.Batch) { b.Calls[0].Answer = answer.AppendNil(nil) })
		}, "can't be put into an order"},
		{"a window that ends early", func(p *play) {
			p.call(windowOf(), nil)
			p.call(windowOf(), nil)
			forget(p, windowPrefix)
			p.call(windowOf(), nil)
		}, "counts 1 in 0window:, want 3"},
		{"a window that lasts too long", func(p *play) {
			p.call(windowOf(), nil)
			p.call(command("PERSIST", windowPrefix), nil)
			p.now += (windowMillis + 1) * 1e6
			p.call(windowOf(), nil)
		}, "counts 2 in 0window:, want 1"},
		{"a lock taken twice", func(p *play) {
			p.call(held, nil)
			forget(p, lock)
			p.now += windowMillis * 1e6
			p.call(held, nil)
		}, "was taken in entry 2, 0 ms before its end"},
		{"permits admitted twice", func(p *play) {
			p.call(two, nil)
			p.call(anywhere, func(b *engine.Batch) { b.Calls[0].Answer = answer.AppendInt(nil, 2) })
		}, "told to be 2 twice"},
		{"permits beyond the limit", func(p *play) {
			for range 2 {
				p.call(two, nil)
				p.call(anywhere, nil)
				forget(p, admitted)
				p.node.Apply(p.now, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte(admitted)}}})
			}
		}, "gave 8 of 5"},
		{"a run that was lost", func(p *play) { p.lose(two) }, "is not in the log"},
		{"permits that are forgotten", func(p *play) {
			p.call(anywhere, nil)
			forget(p, admitted)
		}, "0 are used at the end, clients were given 2"},
		{"a refusal of permits that are there", func(p *play) {
			p.call(two, nil)
			p.call(two, func(b *engine.Batch) { b.Calls[0].Answer = answer.AppendInt(nil, -2) })
		}, "can't be put into an order"},
		{"times that are too close", func(p *play) {
			for range spacedLimit {
				p.call(inWindow, nil)
			}
			forget(p, spaced)
			p.now += windowMillis*1e6 - 1e6
			p.call(inWindow, nil)
		}, "admitted 6 times in"},
		{"a time that is not that of its entry", func(p *play) {
			p.call(inWindow, nil)
			p.Ops[0].Stamp += 1e6
		}, "tells a script"},
	} {
		p := newPlay()
		tt.play(p)
		p.Check()
		switch {
		case tt.want == "" && len(p.Faults) > 0:
			t.Errorf("%s: %q, want no fault", tt.name, p.Faults)
		case tt.want != "" && !slices.ContainsFunc(p.Faults, func(f string) bool { return strings.Contains(f, tt.want) }):
			t.Errorf("%s: %q, want one with %q", tt.name, p.Faults, tt.want)
		}
	}
}
