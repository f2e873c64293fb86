package replication

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"limitsrv/engine"
)

// check returns the faults of a complete history, including those found while it was made.
func (h *simHistory) check() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.calls {
		h.checkCall(c)
	}
	h.checkOrder()
	h.checkEarned()
	h.checkCounters()
	h.checkWatched()
	h.checkPace()
	h.checkWindows()
	return h.faults
}

// checkCall compares a client's answer with the applied ops.
func (h *simHistory) checkCall(c *simCall) {
	for i, a := range c.applied {
		switch {
		case c.outcome == simPending:
			h.fault("call %d to %s of %v was never answered", c.number, c.node, c.called)
			return
		case (c.outcome == simRefused || c.outcome == simNoQuorum) && a != nil:
			h.fault("call %d to %s was %s, at %v, and applied in entry %d", c.number, c.node, c.outcome, c.answered, a.index)
		case c.outcome == simAnswered && a != nil && c.ops[i].Kind == engine.Watch:
		case c.outcome == simAnswered && a == nil && !looks(&c.ops[i]) && c.decisions[i].Status != engine.Aborted:
			h.fault("call %d to %s was answered at %v, and is not in the log: %s %+v",
				c.number, c.node, c.answered, simOps(c.ops[i:i+1]), c.decisions[i])
		case c.outcome == simAnswered && a != nil && a.decision != c.decisions[i]:
			h.fault("call %d to %s was answered\n%+v, decided in entry %d was\n%+v", c.number, c.node, c.decisions[i], a.index, a.decision)
		case a != nil && i > 0 && c.applied[i-1] != nil && a.position < c.applied[i-1].position:
			h.fault("the ops of call %d were applied in another order", c.number)
		}
	}
}

// looks reports whether an op need not be in the log.
func looks(op *engine.Op) bool {
	return op.Kind == engine.Peek || op.Kind == engine.Watch || op.Kind == engine.Expect || op.Kind == engine.Take && op.N == 0
}

// checkOrder finds ops applied before others that were answered before they were
// requested.
func (h *simHistory) checkOrder() {
	var answered []*simCall
	for _, c := range h.calls {
		if c.outcome == simAnswered {
			answered = append(answered, c)
		}
	}
	slices.SortFunc(answered, func(a, b *simCall) int { return cmp.Compare(a.answered, b.answered) })
	newest, from := &simApplied{position: -1}, 0 // of calls answered before this one
	for _, c := range h.calls {                  // in the order of called
		for ; from < len(answered) && answered[from].answered < c.called; from++ {
			for _, a := range answered[from].applied {
				if a != nil && a.position > newest.position {
					newest = a
				}
			}
		}
		for _, a := range c.applied {
			if a != nil && a.position < newest.position {
				h.fault("call %d, made at %v, was applied in entry %d, before one of entry %d that had been answered",
					c.number, c.called, a.index, newest.index)
			}
		}
	}
}

// checkEarned finds buckets that gave more than they had and earned, by the stamps.
func (h *simHistory) checkEarned() {
	type bucket struct {
		level *big.Rat
		at    engine.Instant
	}
	buckets := map[string]*bucket{}
	for _, a := range h.ops {
		p := a.op.Params
		if a.op.Kind != engine.Take || p.Alg != engine.Token || a.decision.Status != engine.OK || h.evicted[string(a.op.Key)] {
			continue
		}
		full := big.NewRat(p.Limit, 1)
		b := buckets[string(a.op.Key)]
		if b == nil {
			b = &bucket{level: full, at: a.stamp}
			buckets[string(a.op.Key)] = b
		}
		earned := new(big.Rat).Mul(big.NewRat(int64(a.stamp-b.at), p.Period), big.NewRat(p.Count, 1))
		b.level, b.at = new(big.Rat).Add(b.level, earned), a.stamp
		if b.level.Cmp(full) > 0 {
			b.level = full
		}
		if a.decision.Allowed == 1 {
			b.level = new(big.Rat).Sub(b.level, big.NewRat(a.op.N, 1))
		}
		if b.level.Sign() < 0 {
			h.fault("%s gave %s more than it had, in entry %d", a.op.Key, new(big.Rat).Neg(b.level).FloatString(3), a.index)
		}
	}
}

// simForever is the period of limits that regain nothing during a run.
const simForever = engine.MaxPeriod

// A simTake is a call on a limit that regains nothing, for Porcupine.
type simTake struct {
	n, limit int64
	look     bool
}

// simCounter is the sequential model of such limits.
var simCounter = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		used, in := state.(int64), input.(simTake)
		want := engine.Decision{Remaining: in.limit - used}
		if in.n <= in.limit-used {
			want.Allowed = 1
			if !in.look {
				used += in.n
				want.Remaining -= in.n
			}
		}
		if d := output.(*engine.Decision); d != nil && (d.Allowed != want.Allowed || d.Remaining != want.Remaining) {
			return false, state
		}
		return true, used
	},
}

// simSample is the number of calls per key given to Porcupine.
const simSample = 200

// checkCounters checks the limits that regain nothing from the clients' view, without the
// log.
func (h *simHistory) checkCounters() {
	type counter struct {
		limit, ok, unknown int64
		calls              []porcupine.Operation
	}
	counters := map[string]*counter{}
	for _, c := range h.calls {
		for i := range c.ops {
			op := &c.ops[i]
			if op.Kind != engine.Take || op.Params.Alg != engine.Fixed || op.Params.Period != simForever || h.evicted[string(op.Key)] {
				continue
			}
			k := counters[string(op.Key)]
			if k == nil {
				k = &counter{limit: op.Params.Limit}
				counters[string(op.Key)] = k
			}
			o := porcupine.Operation{Input: simTake{n: op.N, limit: k.limit, look: op.N == 0}, Call: int64(c.called), Return: int64(c.answered)}
			switch c.outcome {
			case simRefused, simPending, simNoQuorum:
				continue
			case simAnswered:
				if c.decisions[i].Status != engine.OK {
					continue // no memory, or an Expect did not hold
				}
				o.Output = &c.decisions[i]
				k.ok += c.decisions[i].Allowed * op.N
			case simUnknown:
				o.Output, o.Return = (*engine.Decision)(nil), math.MaxInt64
				k.unknown += op.N
			}
			k.calls = append(k.calls, o)
		}
	}
	for key, k := range counters {
		if k.ok > k.limit {
			h.fault("%s gave %d of %d", key, k.ok, k.limit)
		}
		if used := h.used(key, k.limit); used < k.ok || used > k.ok+k.unknown {
			h.fault("of %s %d are used at the end, clients were given %d and perhaps %d", key, used, k.ok, k.unknown)
		}
		if len(k.calls) > simSample {
			h.fault("%s was used %d times, at most %d are looked at", key, len(k.calls), simSample)
		}
		if result := porcupine.CheckOperationsTimeout(simCounter, k.calls, 10*time.Second); result != porcupine.Ok {
			h.fault("the %d answers about %s can't be put into an order: %v", len(k.calls), key, result)
		}
	}
}

// used returns the tokens used at the end of the log.
func (h *simHistory) used(key string, limit int64) int64 {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte(key)}}}
	h.engine.Apply(h.stamp, &b)
	if b.Decisions[0].Status != engine.OK {
		return 0
	}
	return limit - b.Decisions[0].Remaining
}

// summary describes a history.
func (h *simHistory) summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[simOutcome]int{}
	for _, c := range h.calls {
		counts[c.outcome]++
	}
	return fmt.Sprintf("%d calls, %d answered, %d refused, %d unknown, %d alone; %d entries; %s; %d keys evicted", len(h.calls),
		counts[simAnswered], counts[simRefused], counts[simUnknown], counts[simNoQuorum], len(h.entries), h.watchedSummary(), len(h.evicted))
}
