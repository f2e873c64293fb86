package simtest

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/anishathalye/porcupine"

	"limitsrv/engine"
)

// Check checks a complete history. Requires: Mu is held.
func (h *History) Check() {
	for _, c := range h.Calls {
		h.checkCall(c)
	}
	h.checkOrder()
	h.CheckEarned()
	h.CheckCounters()
	h.CheckPlain()
	h.checkOnce()
	h.checkReservations()
	h.checkRuled()
	h.checkWatched()
}

// checkCall compares a client's answer with the applied ops.
func (h *History) checkCall(c *Call) {
	for i, a := range c.Applied {
		switch {
		case c.Outcome == Pending:
			h.Fault("call %d to %s of %v was never answered", c.Number, c.Node, c.Called)
			return
		case (c.Outcome == Refused || c.Outcome == NoQuorum) && a != nil:
			h.Fault("call %d to %s was %s, at %v, and applied in entry %d", c.Number, c.Node, c.Outcome, c.Answered, a.Index)
		case c.Outcome == Answered && a != nil && c.Ops[i].Kind == engine.Watch:
		case c.Outcome == Answered && a == nil && !c.MayLack && h.mustLog(c, i):
			h.Fault("call %d to %s was answered at %v, and is not in the log: %s %+v",
				c.Number, c.Node, c.Answered, Text(c.Ops[i:i+1], c.Calls), c.Decisions[i])
		case c.Outcome == Answered && a != nil && a.Decision != c.Decisions[i]:
			h.Fault("call %d to %s was answered\n%+v, decided in entry %d was\n%+v", c.Number, c.Node, c.Decisions[i], a.Index,
				a.Decision)
		case c.Outcome == Answered && a != nil && a.Answer != c.Answers[i]:
			h.Fault("call %d to %s was answered %q, entry %d answers %q: %s",
				c.Number, c.Node, c.Answers[i], a.Index, a.Answer, Text(c.Ops[i:i+1], c.Calls))
		case a != nil && i > 0 && c.Applied[i-1] != nil && a.Position < c.Applied[i-1].Position:
			h.Fault("the ops of call %d were applied in another order", c.Number)
		}
	}
}

// mustLog reports whether an answered op must be in the log.
func (h *History) mustLog(c *Call, i int) bool {
	op, d := &c.Ops[i], &c.Decisions[i]
	switch {
	case op.Kind == engine.Do && c.Calls[op.N].ReadOnly:
		return false
	case op.Kind == engine.Learn: // has no tag
		return false
	case op.Kind == engine.Peek || op.Kind == engine.Watch || op.Kind == engine.Expect || op.Kind == engine.Needs:
		return false
	case op.N == 0 && op.Kind != engine.Do && op.Kind != engine.Forget && op.Kind != engine.Release &&
		op.Kind != engine.Flush:
		return false
	case h.ChangesOnly:
		return d.Changed
	}
	return d.Status != engine.Aborted
}

// checkOrder finds an op A that was applied before an op B, although B was answered before
// A was requested.
func (h *History) checkOrder() {
	var answered []*Call
	for _, c := range h.Calls {
		if c.Outcome == Answered {
			answered = append(answered, c)
		}
	}
	slices.SortFunc(answered, func(a, b *Call) int { return cmp.Compare(a.Answered, b.Answered) })
	newest, from := &Applied{Position: -1}, 0 // of calls answered before this call
	for _, c := range h.Calls {               // in the order of called
		for ; from < len(answered) && answered[from].Answered < c.Called; from++ {
			for _, a := range answered[from].Applied {
				if a != nil && a.Position > newest.Position {
					newest = a
				}
			}
		}
		for _, a := range c.Applied {
			if a != nil && a.Position < newest.Position {
				h.Fault("call %d, made at %v, was applied in entry %d, before one of entry %d that had been answered",
					c.Number, c.Called, a.Index, newest.Index)
			}
		}
	}
}

// CheckEarned finds buckets that gave more than they had and earned, by the stamps.
func (h *History) CheckEarned() {
	type bucket struct {
		level *big.Rat
		at    engine.Instant
	}
	buckets := map[string]*bucket{}
	for _, a := range h.Ops {
		p := a.Op.Params
		if a.Op.Kind != engine.Take || p.Alg != engine.Token || a.Decision.Status != engine.OK ||
			h.Evicted[string(a.Op.Key)] || bytes.HasPrefix(a.Op.Key, []byte(everyPrefix)) {
			continue
		}
		full := big.NewRat(p.Limit, 1)
		b := buckets[string(a.Op.Key)]
		if b == nil {
			b = &bucket{level: full, at: a.Stamp}
			buckets[string(a.Op.Key)] = b
		}
		earned := new(big.Rat).Mul(big.NewRat(int64(a.Stamp-b.at), p.Period), big.NewRat(p.Count, 1))
		b.level, b.at = new(big.Rat).Add(b.level, earned), a.Stamp
		if b.level.Cmp(full) > 0 {
			b.level = full
		}
		if a.Decision.Allowed == 1 {
			b.level = new(big.Rat).Sub(b.level, big.NewRat(a.Op.N, 1))
		}
		if b.level.Sign() < 0 {
			h.Fault("%s gave %s more than it had, in entry %d", a.Op.Key, new(big.Rat).Neg(b.level).FloatString(3), a.Index)
		}
	}
}

// A take is a call on a limit that regains nothing, for Porcupine.
type take struct {
	n, limit int64
	look     bool
}

// counterModel is the sequential model of such limits.
var counterModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		used, in := state.(int64), input.(take)
		want := engine.Decision{Remaining: in.limit - used}
		if in.n <= in.limit-used {
			want.Allowed = 1
			if !in.look {
				used += in.n
				want.Remaining -= in.n
			}
		}
		if d, ok := output.(*engine.Decision); ok && (d.Allowed != want.Allowed || d.Remaining != want.Remaining) {
			return false, state
		}
		return true, used
	},
}

// CheckCounters checks the limits that regain nothing from the clients' view, without the
// log.
func (h *History) CheckCounters() {
	counters := map[place]*number{}
	for _, c := range h.Calls {
		for i := range c.Ops {
			op := &c.Ops[i]
			if op.Kind != engine.Take || op.Params.Alg != engine.Fixed || op.Params.Period != Forever ||
				h.Evicted[string(op.Key)] {
				continue
			}
			at := place{op.DB, string(op.Key)}
			if counters[at] == nil {
				counters[at] = newNumber(at, counterModel, op.Params.Limit)
			}
			counters[at].add(c, take{n: op.N, limit: op.Params.Limit, look: op.N == 0}, op.N,
				func() (output any, added int64, ok bool) {
					d := &c.Decisions[i] // not OK: no memory, or an Expect did not hold
					return d, d.Allowed * op.N, d.Status == engine.OK
				})
		}
	}
	for _, k := range counters {
		h.checkNumber(k, h.used(k.key, k.limit))
	}
}

// used returns the tokens used at the end of the log.
func (h *History) used(key string, limit int64) int64 {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte(key)}}}
	h.Engine.Apply(h.Engine.Now(), &b)
	if b.Decisions[0].Status != engine.OK {
		return 0
	}
	return limit - b.Decisions[0].Remaining
}

// Summary describes a history.
func (h *History) Summary() string {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	counts, commands, runs := map[Outcome]int{}, 0, 0
	for _, c := range h.Calls {
		counts[c.Outcome]++
		commands += len(c.Calls) - len(c.Runs)
		runs += len(c.Runs)
	}
	return fmt.Sprintf("%d calls with %d commands on plain values and %d scripts, %d answered, %d refused, %d unknown, "+
		"%d alone; %s; %s; %d keys evicted", len(h.Calls), commands, runs,
		counts[Answered], counts[Refused], counts[Unknown], counts[NoQuorum], h.watchedSummary(), h.ruledSummary(),
		len(h.Evicted))
}
