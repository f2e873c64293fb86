package checks

import (
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
)

// A Memory is working memory of Checks, with their last answer. The zero value is ready.
type Memory struct {
	result rules.Result // of the last Append
	names  [][]byte     // of the last Append of a request with Reserve, see namesOf
	met    []Met        // of all Appends since the last Release
	last   Check        // as keep made it, since the last Release; zero: no Check
	// extras belong to all Appends since the last Release, extrasUsed long; the rest is memory for
	// more.
	extras     []extra
	extrasUsed int
	answer     Answer
	stripe     int // of the counters of limits; 0: no counters yet
	tally      live.Tally
}

// maxKeptMet is the largest capacity of limits that a Memory keeps for the next requests.
const maxKeptMet = 4096

// Release frees the keys and the limits of all requests of the Checks that share m, and calls
// Count.
func (m *Memory) Release() {
	m.result.Release()
	if m.met = m.met[:0]; cap(m.met) > maxKeptMet {
		m.met, m.extras = nil, nil
	}
	m.extrasUsed, m.last = 0, Check{}
	m.Count()
}

// Count adds the answers since its last call to the counters of limits. It must be called before
// other goroutines can see these answers, because they may read the counters then.
func (m *Memory) Count() { m.tally.Flush(m.stripe) }

// An extra has the parts of a Check that few requests need: of a request without limits, with
// several descriptors, with penalty boxes, with labels, or with own numbers of tokens.
type extra struct {
	domain      *rules.Domain
	matched     bool
	guards      []rules.Guard
	shared      []rules.Shared
	descriptors []rules.Verdict
	labels      [][]byte // of the limits; empty if no limit has a label
	own         []int64  // Request.Own
}

// met returns the limits of the request, until the next Append.
func (c *Check) met() []Met { return c.memory.met[c.first : int(c.first)+int(c.limits)] }

// extras returns the extra of the request, until the next Append, or nil.
func (c *Check) extras() *extra {
	if c.extra == 0 {
		return nil
	}
	return &c.memory.extras[c.extra-1]
}

// hitsOf returns the tokens of the request for a limit.
func (c *Check) hitsOf(m *Met) int64 {
	if c.weighs {
		return m.hits
	}
	n := c.hits
	if x := c.extras(); x != nil && int(m.Descriptor) < len(x.own) && x.own[m.Descriptor] >= 0 {
		n = x.own[m.Descriptor]
	}
	if m.takesOne {
		return min(n, 1)
	}
	return n
}

// keep keeps all of the memory's result, and of a request by the rules of s, that the answer needs.
// Requests of the same attributes mostly meet the same limits, which are kept once; of an extra,
// such requests have at most their own tokens.
func (c *Check) keep(s *live.State, q *Request) {
	m := c.memory
	r := &m.result
	c.state, c.hits, c.peek, c.settles, c.repeats, c.weighs = s, q.Hits, q.Peek, q.settling(), false, len(q.Amounts) > 0
	c.reserves, c.partial = q.IsReserved(), q.IsReserved() && q.Terms.Partial
	if last := &m.last; r.Repeated && last.state == s && last.settles == c.settles && len(q.Own) == 0 &&
		q.Negative == nil {
		c.verdict, c.first, c.limits, c.extra = last.verdict, last.first, last.limits, 0
		return
	}
	c.verdict, c.first, c.limits, c.extra = r.Verdict, int32(len(m.met)), uint8(len(r.Limits)), 0
	if s.Shadow || q.Negative != nil {
		soften(r, s, q)
	}
	op, labelled := uint8(1), false // op 0 is the Needs
	for i := range r.Limits {
		from := &r.Limits[i]
		m.met = append(m.met, Met{
			Limit: from.Limit, Named: from.Named(), Rule: from.Rule, index: int32(from.Index),
			Descriptor: uint8(from.Descriptor), Guard: int8(from.Guard), Mode: from.Mode, op: op + uint8(i),
			Overruled: s.Shadow && from.OwnMode() != rules.Shadow, hasEvents: from.HasEvents(), hits: from.Hits,
			takesOne: from.TakesOne() || c.weighs && !from.IsWeighed(),
		})
		labelled = labelled || len(from.Label) > 0
	}
	if labelled || r.Verdict != rules.Limited || len(r.Descriptors) > 1 || len(r.Guards) > 0 || len(q.Own) > 0 ||
		q.Negative != nil {
		c.keepExtra(q, labelled)
	}
	m.last = *c
}

// keepExtra keeps the parts that few requests have.
func (c *Check) keepExtra(q *Request, labelled bool) {
	m := c.memory
	r := &m.result
	if m.extrasUsed == len(m.extras) {
		m.extras = append(m.extras, extra{})
	}
	x := &m.extras[m.extrasUsed]
	m.extrasUsed++
	c.extra = int32(m.extrasUsed)
	x.domain, x.matched = r.Domain, r.Matched
	x.guards = append(x.guards[:0], r.Guards...)
	x.shared = append(x.shared[:0], r.Shared...)
	x.descriptors = append(x.descriptors[:0], r.Descriptors...)
	if x.own = append(x.own[:0], q.Own...); q.Negative != nil {
		x.own = x.own[:0]
		for i := range q.Descriptors {
			x.own = append(x.own, q.taken(i))
		}
	}
	if x.labels = x.labels[:0]; labelled {
		for i := range r.Limits {
			x.labels = append(x.labels, r.Limits[i].Label)
		}
	}
}

// Release frees the keys of the last request. It must be called after its answer was used,
// and before the next request.
func (c *Check) Release() {
	if c.memory != nil {
		c.memory.Release()
	}
	c.state = nil
}
