package live

import (
	"sync/atomic"

	"limitsrv/commands/rules"
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
	Blocked       // by the penalty box of the limit's rule, or by RL.BLOCK
	Outcomes
)

// String returns the word of an outcome in metrics.
func (o Outcome) String() string {
	return [...]string{"allowed", "limited", "near", "grace", "shadow_limited", "blocked"}[o]
}

// single is the only outcome of counters that are not of a limit.
const single Outcome = 0

// countStripes is the number of lines of counters of a limit, so that few threads write to the
// same.
const countStripes = 8

// A line has the counters of a stripe, and a cache line for itself.
type line struct {
	n [Outcomes]atomic.Int64
	_ [64 - 8*int(Outcomes)]byte
}

// A counter has the counters of a limit, or of something else with fewer outcomes. A line is
// made when it is first written to.
type counter struct {
	lines [countStripes]atomic.Pointer[line]
	// series are the series of the labels of a limit, newest first. Their counts are not in
	// the lines.
	series atomic.Pointer[series]
}

// add adds n to the counter of an outcome. stripe is any number that differs between threads
// mostly. No allocation once the stripe was counted on.
func (c *counter) add(stripe int, o Outcome, n int64) {
	at := &c.lines[uint(stripe)%countStripes]
	l := at.Load()
	for l == nil {
		at.CompareAndSwap(nil, new(line))
		l = at.Load()
	}
	l.n[o].Add(n)
}

// sums returns the counts in the lines.
func (c *counter) sums() (sums [Outcomes]int64) {
	for i := range c.lines {
		if l := c.lines[i].Load(); l != nil {
			for o := range sums {
				sums[o] += l.n[o].Load()
			}
		}
	}
	return sums
}

// counts are the counters of a Set: of its limits by Index, and of its domains by Index. A limit
// or a domain that a load keeps, keeps its counter, so that nothing is lost while both Sets are
// in use.
type counts struct {
	set     *rules.Set
	each    []*counter
	domains []*counter // of requests that no rule matched, as single
	labels  *labelTable
	totals  *totals
}

// totals are counters that no load changes.
type totals struct {
	unknown   counter // of requests for domains that the Set does not have
	penalties counter // of boxes that closed
	addresses counter // of attributes with addresses that can't be parsed
}

// newCounts returns counters of 0, with series of at most so many labels.
func newCounts(set *rules.Set, labels int) *counts {
	c := emptyCounts(set, labels)
	c.fill()
	return c
}

// emptyCounts returns counts without counters of limits and domains.
func emptyCounts(set *rules.Set, labels int) *counts {
	return &counts{set: set, each: make([]*counter, set.NumLimits()), domains: make([]*counter, len(set.Domains())),
		labels: newLabelTable(labels), totals: new(totals)}
}

// fill makes the counters that are missing.
func (c *counts) fill() {
	for _, all := range [][]*counter{c.each, c.domains} {
		missing := 0
		for _, counter := range all {
			if counter == nil {
				missing++
			}
		}
		fresh := make([]counter, missing)
		for i := range all {
			if all[i] == nil {
				all[i], fresh = &fresh[0], fresh[1:]
			}
		}
	}
}

// next returns the counters of another Set, which differs from the own Set by d.
func (c *counts) next(set *rules.Set, d *rules.Diff) *counts {
	n := emptyCounts(set, c.labels.most)
	n.totals = c.totals
	for i, old := range d.From {
		if old >= 0 {
			n.each[i] = c.each[old]
			n.labels.take(n.each[i])
		}
	}
	for _, d := range set.Domains() {
		if was := c.set.Domain(d.Name); was != nil {
			n.domains[d.Index] = c.domains[was.Index]
		}
	}
	n.fill()
	return n
}

// counter returns the counter of a limit for a label.
func (s *State) counter(limit int, label []byte) *counter {
	c := s.counts.each[limit]
	if len(label) > 0 {
		if series := s.counts.labels.get(c, label); series != nil {
			return &series.counter
		}
	}
	return c
}

// tallied is the number of limits that a Tally gathers: neighbours, for example the limits of
// a rule, go into different places.
const tallied = 4

// A Tally gathers requests for a few limits, so that an addition counts several requests of a
// pipeline. The zero value is ready. Concurrency: one goroutine.
type Tally struct {
	places [tallied]tally
	used   bool
}

// A tally is a number of requests with the same outcome at the same limit and label.
type tally struct {
	counter *counter // nil: no limit
	outcome Outcome
	n       int64
}

// Count counts a request with an outcome at the limit with an Index, and a label, which may be
// nil: see rules.Met. It is in the counters of the State at the next Flush at the latest. stripe is
// any number that differs between threads mostly. No allocation once the limit was counted on a
// stripe with the label, or if there are as many labels as there may be.
func (t *Tally) Count(s *State, stripe, limit int, label []byte, o Outcome) {
	c, at := s.counter(limit, label), &t.places[limit%tallied]
	if at.counter != c || at.outcome != o {
		at.flush(stripe)
		at.counter, at.outcome = c, o
	}
	at.n++
	t.used = true
}

// Flush counts the requests that were gathered.
func (t *Tally) Flush(stripe int) {
	if !t.used {
		return
	}
	for i := range t.places {
		t.places[i].flush(stripe)
	}
	t.used = false
}

func (t *tally) flush(stripe int) {
	if t.counter != nil {
		t.counter.add(stripe, t.outcome, t.n)
		t.counter, t.n = nil, 0
	}
}

// CountUnmatched counts a request that no rule matched, in a domain or, if d is nil, without
// a domain. Concurrency: any number of goroutines may call it. Allocations: as Tally.Count.
func (s *State) CountUnmatched(stripe int, d *rules.Domain) {
	c := &s.counts.totals.unknown
	if d != nil {
		c = s.counts.domains[d.Index]
	}
	c.add(stripe, single, 1)
}

// CountPenalty counts a penalty box that closed. Concurrency and allocations: as
// CountUnmatched.
func (s *State) CountPenalty(stripe int) { s.counts.totals.penalties.add(stripe, single, 1) }

// CountBadAddresses counts n attributes with addresses that can't be parsed. For concurrency and
// allocations see CountUnmatched.
func (s *State) CountBadAddresses(stripe, n int) {
	s.counts.totals.addresses.add(stripe, single, int64(n))
}

// Counts returns the counters of the limit with an Index, since the limit was first loaded
// on this node.
func (s *State) Counts(limit int) (sums [Outcomes]int64) {
	s.Series(limit, func(_ string, counts [Outcomes]int64) {
		for o, n := range counts {
			sums[o] += n
		}
	})
	return sums
}

// Series calls each with the counters of the limit with an Index for each label, and with the
// counters of requests without a label, as the label "". A label may be there more than once.
// All are parts of Counts.
func (s *State) Series(limit int, each func(label string, counts [Outcomes]int64)) {
	c := s.counts.each[limit]
	each("", c.sums())
	for x := c.series.Load(); x != nil; x = x.next {
		each(x.label, x.counter.sums())
	}
}

// MaxSeries returns Options.Series.
func (s *State) MaxSeries() int { return s.counts.labels.most }

// Unmatched returns the number of requests that no rule matched in a domain, or, if d is nil,
// in domains that there are not, since the domain was first loaded on this node.
func (s *State) Unmatched(d *rules.Domain) int64 {
	c := &s.counts.totals.unknown
	if d != nil {
		c = s.counts.domains[d.Index]
	}
	return c.sums()[single]
}

// AllUnmatched returns the sum of Unmatched over all domains.
func (s *State) AllUnmatched() int64 {
	n := s.Unmatched(nil)
	for _, d := range s.Set.Domains() {
		n += s.Unmatched(d)
	}
	return n
}

// Penalties returns the number of penalty boxes that requests to this node closed.
func (s *State) Penalties() int64 { return s.counts.totals.penalties.sums()[single] }

// BadAddresses returns the number of attributes, in requests to this node, with addresses that
// could not be parsed.
func (s *State) BadAddresses() int64 { return s.counts.totals.addresses.sums()[single] }
