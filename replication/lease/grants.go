package lease

import (
	"math"
	"slices"
	"sync"
	"time"
)

// never is a time before any reading of a clock.
const never = time.Duration(math.MinInt64 / 2)

// GrantOptions configure Grants. Concurrency: any goroutine may call the functions.
type GrantOptions struct {
	// Clock must never be set, and must advance while the process or the machine does not run.
	Clock  func() time.Duration
	Length time.Duration // of a lease
	// Voters returns whether this node is a voter, and the ids of the other voters.
	Voters func() (self bool, others []string)
	// Confirmed is called when an acknowledgement makes the confirmed time later, and by Wake.
	Confirmed func()
}

// Grants are the acknowledgements that a leader received in its term. Concurrency: any goroutine.
type Grants struct {
	o GrantOptions

	mu    sync.Mutex
	term  uint64
	acked map[string]time.Duration // by node: when its newest acknowledged request was sent
	// confirmed is the latest time that a majority is known to have followed the leader of
	// term.
	confirmed time.Duration
	dropped   uint64 // the newest term with a dropped lease
}

// NewGrants returns Grants without acknowledgements.
func NewGrants(o GrantOptions) *Grants {
	return &Grants{o: o, acked: map[string]time.Duration{}, confirmed: never}
}

// Now returns the time. Cost: that of GrantOptions.Clock.
func (g *Grants) Now() time.Duration { return g.o.Clock() }

// Acked records that a node acknowledged a request of the leader of term, sent at the time sent or
// later. Cost: linear in the voters.
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

// enter begins a term, if it is newer than the current term. Requires: mu is held.
func (g *Grants) enter(term uint64) {
	if term > g.term {
		g.term, g.confirmed = term, never
		clear(g.acked)
	}
}

// count sets confirmed from the acknowledgements, and reports whether it is later than before. It
// never becomes earlier, because a change of one member keeps a voter in both the old and the new
// majority. Requires: mu is held.
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

// Holds reports whether the leader of term has a lease now, and whether the lease must be renewed.
// If holds is true and the node still leads in that term after the call, the answer to a look that
// was evaluated before the call is valid.
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

// ConfirmedSince reports whether a majority followed the leader of term at time at or later.
func (g *Grants) ConfirmedSince(term uint64, at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enter(term)
	return term == g.term && (g.confirmed >= at || g.isAlone())
}

// isAlone reports whether this node is the only voter, and if so sets confirmed to the present.
// Requires: mu is held.
func (g *Grants) isAlone() bool {
	self, others := g.o.Voters()
	return self && len(others) == 0 && g.count()
}

// Drop ends the lease of the leader of term. It must precede the request that makes another node
// lead.
func (g *Grants) Drop(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropped = max(g.dropped, term)
}
