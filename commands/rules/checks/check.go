package checks

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/engine"
)

// A Check is the decision about a request on its way: from its limits to their ops, and from the
// decisions on these to an answer. It is reused: the zero value is ready. It is small, because
// each request of a pipeline has a Check; a [Memory] has the parts that vary in length.
// Concurrency: not safe for concurrent use.
type Check struct {
	memory *Memory     // of the last Share, or its own; nil: no memory yet
	state  *live.State // of the last Append, until Release
	hits   int64       // Request.Hits
	// first is the index in Memory.met of the first of limits.
	first int32
	// extra is the number in Memory.extras, from 1 on, of the parts that few requests have; 0: no
	// extras.
	extra   int32
	limits  uint8
	verdict rules.Verdict
	peek    bool
	settles bool
	// repeats is set if the request has acted before, see Repeats.
	repeats bool
	weighs  bool // the request has Amounts, so each limit has its own hits
	// reserves is set if the request is reserved when it passes, and partial if the number of tokens
	// may then be less.
	reserves bool
	partial  bool
}

// Share lets the next requests use memory that other Checks of the same goroutine use too. An
// answer is then valid until the next call of any of these.
func (c *Check) Share(m *Memory) { c.memory = m }

// Append appends the ops of a request, by rules at now, the instant that overrides expire
// by. An error is a *resp.Error: a mistake of the request, or the State's Err. Then nothing is
// appended. After it q may be used for another request, but its bytes must stay until the answer.
func (c *Check) Append(b *engine.Batch, s *live.State, now engine.Instant, q *Request) error {
	if c.memory == nil {
		c.memory = new(Memory)
	}
	if s.Err != nil {
		return s.Err
	}
	r := &c.memory.result
	q.Holds = q.IsReserved() && len(q.Amounts) > 0 && !b.Lacks(engine.NamedFeatures)
	if err := s.Set.Match(&q.Request, s.Overrides, now, r); err != nil {
		return resp.NewError("ERR", err.Error())
	}
	if q.Negative != nil {
		if err := checkShared(r, q); err != nil {
			return err
		}
	}
	if r.BadAddresses > 0 {
		s.CountBadAddresses(c.takeStripe(), r.BadAddresses)
	}
	if q.Reserve != nil {
		c.memory.names = namesOf(r, q)
		if err := checkReserve(r, q, len(c.memory.names)); err != nil {
			return err
		}
	}
	c.keep(s, q)
	first, members := len(b.Ops), max(1, len(r.Limits)+len(r.Guards))
	*next(b) = engine.NeedsOf(engine.Rules, s.Version, members)
	if (q.Settle != 0 || q.Used) && r.Verdict == rules.Limited {
		b.Ops[first].NoQuorum = engine.NoQuorumError // no policy records what was used
	} else if r.Domain != nil {
		b.Ops[first].NoQuorum = r.Domain.NoQuorum
	}
	var unheld *rules.Met
	switch {
	case r.Verdict != rules.Limited:
		b.Ops = append(b.Ops, look)
	case c.settles:
		appendSettling(b, r.Limits, q)
		if b.Lacks(engine.FitFeatures) {
			separate(b.Ops[first:])
		} else {
			b.Ops[first].Group = uint8(len(b.Ops) - first)
		}
	case len(r.Guards) == 0:
		for i := range r.Limits {
			if m := &r.Limits[i]; !appendLimit(b, m, q) && unheld == nil {
				unheld = m
			}
		}
	default:
		unheld = c.appendGuarded(b, q)
	}
	if unheld != nil {
		b.Ops = b.Ops[:first]
		return resp.NewError("ERR", unheld.Name()+" counts leases: ID id is required")
	}
	return nil
}

// Repeats says that the decisions for the next Answer are of a request that has acted before: nothing is
// counted again.
func (c *Check) Repeats() { c.repeats = true }

// BadAddresses returns the number of attributes of the last Append that its rules compare as
// addresses and that can't be parsed.
func (c *Check) BadAddresses() int { return c.memory.result.BadAddresses }

// next appends an op to the batch, which the caller must set.
func next(b *engine.Batch) *engine.Op {
	n := len(b.Ops)
	if n == cap(b.Ops) {
		b.Ops = append(b.Ops, engine.Op{})
	} else {
		b.Ops = b.Ops[:n+1]
	}
	return &b.Ops[n]
}

// look is a member for a group without limits, which only needs the rules.
var look = engine.Op{Kind: engine.Take, Key: []byte(rules.KeyPrefix),
	Params: engine.Params{Alg: engine.Fixed, Limit: 1, Period: engine.MinPeriod}}

// appendLimit appends the op of a limit. ok is false if it needs the ID that the request lacks.
func appendLimit(b *engine.Batch, m *rules.Met, q *Request) (ok bool) {
	n := q.hits(m)
	looksFor := max(1, n)
	if q.Peek {
		n = 0
	}
	op := next(b)
	if m.Limit.None && q.IsReserved() {
		n = 1 // a limit of 0 denies also a reservation of 0 tokens
	}
	holder := q.holder()
	m.SetOp(op, n, holder)
	if op.Mode = modes[m.Mode]; n == 0 && op.Kind == engine.Take {
		op.LookFor(looksFor)
	}
	return op.Kind != engine.Acquire || len(holder) > 0
}

// appendGuarded appends the limits of a request to the group that its Needs begins: those
// without a penalty box, then each box with those that it guards. It returns the first that needs
// the ID that the request lacks, or nil.
func (c *Check) appendGuarded(b *engine.Batch, q *Request) (unheld *rules.Met) {
	r, met := &c.memory.result, c.met()
	first := len(b.Ops) - 1
	for guard := -1; guard < len(r.Guards); guard++ {
		at := len(b.Ops)
		if guard >= 0 {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Mode: engine.Guard})
		}
		strike := int64(0)
		for i := range r.Limits {
			m := &r.Limits[i]
			if m.Guard != guard {
				continue
			}
			met[i].op = uint8(len(b.Ops) - first)
			if !appendLimit(b, m, q) && unheld == nil {
				unheld = m
			}
			if !q.Peek && q.hits(m) > 0 {
				strike = 1
			}
		}
		if guard >= 0 {
			op := &b.Ops[at]
			op.Key, op.Params, op.N = r.Guards[guard].Key, r.Guards[guard].Rule.Penalty.Params(), strike
		}
	}
	return unheld
}

// modes are the modes of the ops of limits.
var modes = [...]engine.Mode{rules.Enforced: 0, rules.Shadow: engine.Shadow, rules.Quota: engine.AnyOf}

// appendSettling appends an op for each limit of a request that settles; all are applied at the
// same moment. A limit of 0 counts nothing, so its op only looks.
func appendSettling(b *engine.Batch, limits []rules.Met, q *Request) {
	for i := range limits {
		l, n := limits[i].Limit, q.settles(&limits[i])
		op := engine.Op{Kind: engine.Charge, Mode: adjusting(b), Params: l.Params, N: n, Key: limits[i].Key}
		switch {
		case l.HasLeases() && len(q.ID) == 0:
			op = engine.Op{Kind: engine.Peek, Key: limits[i].Key}
		case l.HasLeases():
			op = engine.Op{Kind: engine.Release, Key: limits[i].Key, ID: q.ID}
		case l.None:
			op = engine.Op{Kind: engine.Peek, Key: limits[i].Key}
		case n < 0:
			op = refund(b, &limits[i], -n)
		}
		b.Ops = append(b.Ops, op)
	}
}

// adjusting returns the mode for Charges and Refunds in b.
func adjusting(b *engine.Batch) engine.Mode {
	if b.Lacks(engine.FitFeatures) {
		return 0
	}
	return engine.Fit
}

// separate turns the Needs and the members of a group that settles into single ops, because logs of
// earlier versions have no such groups. A look replaces the Needs, so the indexes of the other ops
// stay.
func separate(ops []engine.Op) { ops[0] = engine.Op{Kind: engine.Peek, Key: look.Key} }
