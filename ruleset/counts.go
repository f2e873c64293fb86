package ruleset

import (
	"sync/atomic"

	"limitsrv/rules"
)

// An Outcome is the fate of a request at a limit.
type Outcome uint8

// The outcomes, in the order of their words.
const (
	Allowed Outcome = iota
	Limited
	Near          // allowed, and used above warn_at
	Grace         // allowed, beyond the limit
	ShadowLimited // allowed, and a shadow limit would have denied it
	Blocked       // by the penalty box of the limit's rule
	Outcomes
)

// String returns the word of an outcome in metrics.
func (o Outcome) String() string {
	return [...]string{"allowed", "limited", "near", "grace", "shadow_limited", "blocked"}[o]
}

// countStripes is the number of lines of counters of a limit, so that few threads write to the
// same.
const countStripes = 8

// A line has the counters of one stripe, and a cache line for itself.
type line struct {
	n [Outcomes]atomic.Int64
	_ [64 - 8*int(Outcomes)]byte
}

// A counter has the counters of a limit. A line is made when it is first written to.
type counter struct {
	lines [countStripes]atomic.Pointer[line]
}

// counts are the counters of the limits of a Set, by Index. A limit that a load keeps, keeps
// its counter, so that nothing is lost while both Sets are in use.
type counts struct {
	set  *rules.Set
	each []*counter
}

// newCounts returns counters of 0.
func newCounts(set *rules.Set) *counts {
	c := &counts{set: set, each: make([]*counter, set.NumLimits())}
	fresh := make([]counter, len(c.each))
	for i := range fresh {
		c.each[i] = &fresh[i]
	}
	return c
}

// next returns the counters of another Set, which differs from the own one by d.
func (c *counts) next(set *rules.Set, d *rules.Diff) *counts {
	n := newCounts(set)
	for i, old := range d.From {
		if old >= 0 {
			n.each[i] = c.each[old]
		}
	}
	return n
}

// Count adds n to a counter of the limit with an Index. stripe is any number that differs
// between threads mostly. Concurrency: any number of goroutines may call it. No allocation
// once the limit was counted on a stripe.
func (s *State) Count(stripe, limit int, o Outcome, n int64) {
	at := &s.counts.each[limit].lines[uint(stripe)%countStripes]
	l := at.Load()
	for l == nil {
		at.CompareAndSwap(nil, new(line))
		l = at.Load()
	}
	l.n[o].Add(n)
}

// Counts returns the counters of the limit with an Index, since the limit was first loaded
// on this node.
func (s *State) Counts(limit int) (sums [Outcomes]int64) {
	for i := range s.counts.each[limit].lines {
		if l := s.counts.each[limit].lines[i].Load(); l != nil {
			for o := range sums {
				sums[o] += l.n[o].Load()
			}
		}
	}
	return sums
}
