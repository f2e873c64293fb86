package lease

import (
	"math"
	"slices"
	"sync"
	"time"
)

// never precedes all readings of a clock.
const never = time.Duration(math.MinInt64 / 2)

// GrantOptions configure Grants. Concurrency: all functions may be called by any goroutine.
type GrantOptions struct {
	// Clock must never be set, and must go on while the process or the machine does not run.
	Clock  func() time.Duration
	Length time.Duration // of a lease
	// Voters returns whether this node is a voter, and the ids of the other voters.
	Voters func() (self bool, others []string)
	// Confirmed is called after an acknowledgement by which a majority confirmed the leader
	// anew, and by Wake.
	Confirmed func()
}

// Grants are the acknowledgements that a leader got in its term. Concurrency: any goroutine.
type Grants struct {
	o GrantOptions

	mu    sync.Mutex
	term  uint64
	acked map[string]time.Duration // by node: when the newest acknowledged request was sent
	// confirmed is the latest time at which a majority still followed the leader of term.
	confirmed time.Duration
	dropped   uint64 // the term in which the lease was dropped
}

// NewGrants returns Grants without acknowledgements.
func NewGrants(o GrantOptions) *Grants {
	return &Grants{o: o, acked: map[string]time.Duration{}, confirmed: never}
}

// Now returns the time. Cost: on Linux a system call.
func (g *Grants) Now() time.Duration { return g.o.Clock() }

// Acked records that a node acknowledged a request that the leader of a term had sent at a
// time, or later. Cost: linear in the voters.
func (g *Grants) Acked(node string, term uint64, sent time.Duration) {
	g.mu.Lock()
	g.enter(term)
	anew := false
	if at, ok := g.acked[node]; term == g.term && (!ok || sent > at) {
		g.acked[node] = sent
		anew = g.count()
	}
	g.mu.Unlock()
	if anew {
		g.o.Confirmed()
	}
}

// Wake calls GrantOptions.Confirmed.
func (g *Grants) Wake() { g.o.Confirmed() }

// enter begins a term, if it is newer. Requires: mu is held.
func (g *Grants) enter(term uint64) {
	if term > g.term {
		g.term, g.confirmed = term, never
		clear(g.acked)
	}
}

// count sets confirmed from the acknowledgements, and reports whether it is later than before.
// It never becomes earlier: one change of the members leaves a voter in common to a majority
// before and a majority after it. Requires: mu is held.
func (g *Grants) count() bool {
	self, others := g.o.Voters()
	before, needed := g.confirmed, (len(others)+1)/2
	if !self {
		needed = len(others)/2 + 1
	}
	if needed == 0 {
		g.confirmed = g.o.Clock()
		return true
	}
	sent := make([]time.Duration, 0, 8)
	for _, node := range others {
		if at, ok := g.acked[node]; ok {
			sent = append(sent, at)
		}
	}
	if len(sent) >= needed {
		slices.Sort(sent)
		g.confirmed = max(before, sent[len(sent)-needed])
	}
	return g.confirmed > before
}

// Holds reports whether the leader of a term has a lease now, and whether it is time to renew
// that. The answer to a look that was evaluated before the call is then true, if the node also
// leads in that term after the call.
func (g *Grants) Holds(term uint64) (holds, renew bool) {
	now := g.o.Clock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enter(term)
	if term != g.term || term == g.dropped {
		return false, true
	}
	if age := now - g.confirmed; age < g.o.Length {
		return true, age > g.o.Length/2
	}
	return g.isAlone(), true
}

// ConfirmedSince reports whether a majority still followed the leader of a term at a time.
func (g *Grants) ConfirmedSince(term uint64, at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enter(term)
	return term == g.term && (g.confirmed >= at || g.isAlone())
}

// isAlone reports whether this node is the only voter, and confirms the leader then. Requires:
// mu is held.
func (g *Grants) isAlone() bool {
	self, others := g.o.Voters()
	return self && len(others) == 0 && g.count()
}

// Drop ends the leases of the leader of a term. It must precede the request to another node to
// lead.
func (g *Grants) Drop(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropped = max(g.dropped, term)
}
