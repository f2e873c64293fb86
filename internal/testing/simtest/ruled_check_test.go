package simtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/reservations"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// A ruledPlay makes a history of reservations by rules by hand, on an engine that also applies batches that
// are not in the log: see secretly.
type ruledPlay struct {
	History
	state *live.State
	now   engine.Instant
	index uint64
}

func newRuledPlay(t *testing.T) *ruledPlay {
	t.Helper()
	set, err := rules.Load([]source.File{{Name: "ruled.yaml", Text: []byte(ruledRules[0])}})
	if err != nil {
		t.Fatal(err)
	}
	return &ruledPlay{History: NewHistory(engine.New(engine.Options{Commands: Commands})),
		state: live.NewState(set, live.Options{}), now: 1e18}
}

// call makes a call that is in the log, a second after the call before it.
func (p *ruledPlay) call(build func(b *engine.Batch)) {
	var r Request
	r.calls(0, build)
	c := p.Begin("a", r)
	b := c.Batch()
	p.now += 1e9
	p.index++
	p.Finish(c, Answered, p.Apply(p.index, p.now, b))
}

// reserve reserves with the plans of numbers.
func (p *ruledPlay) reserve(numbers ...int) {
	for _, n := range numbers {
		p.call(func(b *engine.Batch) { planOf(n).reserve(b, p.state, idOf(n)) })
	}
}

func idOf(number int) []byte { return fmt.Append(nil, ruledID, number) }

// settle settles a reservation by its plan.
func (p *ruledPlay) settle(number int) {
	p.call(func(b *engine.Batch) { planOf(number).commit(b, idOf(number)) })
}

// secretly applies a batch that is not in the log.
func (p *ruledPlay) secretly(build func(b *engine.Batch)) {
	var b engine.Batch
	build(&b)
	for i := range b.Calls {
		b.Calls[i].Args = append(b.Calls[i].Args, nil) // the place of the tag
	}
	p.Engine.Apply(p.now, &b)
}

// onLimits has secretly apply an op to the limits of the first tenant.
func (p *ruledPlay) onLimits(op engine.Op) {
	p.secretly(func(b *engine.Batch) {
		for _, key := range p.limits() {
			op.Key = []byte(key)
			b.Ops = append(b.Ops, op)
		}
	})
}

func (p *ruledPlay) limits() (keys []string) {
	for _, c := range p.Calls {
		for _, op := range reservations.OpsOf(&c.Calls[0]) {
			if _, ok := limitOf(op.Key); ok && !slices.Contains(keys, string(op.Key)) {
				keys = append(keys, string(op.Key))
			}
		}
	}
	return keys
}

// TestRuledFaults breaks one law of reservations at a time, and wants checkRuled to name the law.
func TestRuledFaults(t *testing.T) {
	first, all := []int{0, 1, 2}, []int{}
	for n := range perCounter {
		all = append(all, n)
	}
	for _, tt := range []struct {
		name string
		play func(p *ruledPlay)
		want string // in a fault; empty: no fault
	}{
		{"all laws hold", func(p *ruledPlay) {
			for _, n := range all {
				p.reserve(n, n)
				p.call(func(b *engine.Batch) { planOf(n).extend(b, idOf(n)) })
				switch n % 3 {
				case 0:
					p.settle(n)
					p.settle(n)
				case 1:
					p.call(func(b *engine.Batch) { reservations.Cancel(b, idOf(n)) })
				}
			}
			p.now += engine.Instant(reservations.Remembered)
			p.settle(1)
			p.reserve(all...)
		}, ""},
		{"limits that forget what was taken", func(p *ruledPlay) {
			p.reserve(all[:10]...)
			p.onLimits(engine.Op{Kind: engine.Forget})
			p.reserve(all[10:]...)
		}, "over the limit: of"},
		{"limits that count more than was taken", func(p *ruledPlay) {
			p.reserve(first...)
			p.onLimits(engine.Op{Kind: engine.Charge, N: 100})
			p.reserve(7)
		}, "was denied in entry 4, although all limits have its tokens"},
		{"an id that is forgotten too soon", func(p *ruledPlay) {
			p.reserve(first...)
			p.secretly(func(b *engine.Batch) { b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: idOf(1)}) })
			p.reserve(1)
		}, `ruled:1 is "open", and was counted again in entry 4`},
		{"a settlement that counts otherwise", func(p *ruledPlay) {
			p.reserve(first...)
			p.secretly(func(b *engine.Batch) { reservations.Commit(b, idOf(0), []int64{planOf(0).actual + 3}) })
			p.settle(0)
		}, "tokens are used at the end, want"},
		{"a reservation that does not end", func(p *ruledPlay) {
			p.reserve(first...)
			p.secretly(func(b *engine.Batch) {
				reservations.Extend(b, idOf(2), reservations.Extension{TTL: int64(time.Hour), Keep: reservations.Unchanged})
			})
		}, "open reservations after the end of all"},
		{"an end that comes too soon", func(p *ruledPlay) {
			p.reserve(first...)
			p.secretly(func(b *engine.Batch) { reservations.Cancel(b, idOf(0)) })
			p.settle(0)
		}, `RL.COMMIT of ruled:0 in entry 4 was answered "canceled", want "committed"`},
		{"older rules that are in force", func(p *ruledPlay) {
			p.reserve(first...)
			p.Ops[1].Rules = [2]uint64{3, 3}
		}, "decided in entry 2 by rules of version 0, in force is 3"},
	} {
		p := newRuledPlay(t)
		tt.play(p)
		p.checkRuled()
		switch {
		case tt.want == "" && len(p.Faults) > 0:
			t.Errorf("%s: %q, want no fault", tt.name, p.Faults)
		case tt.want != "" && !slices.ContainsFunc(p.Faults, func(f string) bool { return strings.Contains(f, tt.want) }):
			t.Errorf("%s: %q, want one with %q", tt.name, p.Faults, tt.want)
		}
	}
}
