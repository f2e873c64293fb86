package election

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Raft v1.7.3 detects a silent leader after one to three heartbeat timeouts. An election of
// one of two followers fails if the other still hears the leader. After a failed election
// raft waits for another one to two timeouts. Fast failover would need a short timeout, and
// then a machine that gets no processor for a moment would lose its leader. So followers
// agree here that there is no leader, and then one of them starts an election at once;
// raft's own timeouts are longer. Safety depends on raft alone.
const (
	// silentShare is the leader silence that makes a follower want an election, in election
	// timeouts: 1 with a stopped leader, and at most 0.34 since its last heartbeat.
	silentShare = 1.4
	// leaseShare is the time that a leader without a majority keeps leading, in election timeouts.
	// It is less than silentShare, so that clients soon get an answer of the new leader. Looks do
	// not depend on it: they use package lease.
	leaseShare = 1.3
	// RaftShare is raft's own timeout, in election timeouts. Heartbeats follow after a
	// tenth to a fifth of it. It exceeds the worst case of an agreed election, about 1.65,
	// because two simultaneous candidates split the votes.
	RaftShare = 1.7
	// leaderlessShare is the time that a node without a leader waits for a leader's
	// message.
	leaderlessShare = 0.5
	// lateShare is the delay of this process's timers that is accepted; after a longer
	// delay it waits for excuseShare, to read the messages that arrived meanwhile.
	lateShare, excuseShare = 0.1, 0.3
	// endedShare is the silence required of a leader after its process has ended.
	endedShare = 0.1
	// retryShare is the interval of attempts while there is no leader. A candidate tries
	// again after a random pause of at most splitShare, because two of them would otherwise
	// split the votes at each attempt (Ongaro and Ousterhout, In Search of an
	// Understandable Consensus Algorithm, 2014, 5.2).
	retryShare, splitShare = 0.05, 0.5
	// deferTries is the number of attempts that a node leaves to a node with more of the
	// log.
	deferTries = 3
	// stragglerWait bounds a candidate's wait for more voters than a majority.
	stragglerWait = 10 * time.Millisecond
)

// Options configure a Watch. Concurrency: all functions may be called by any goroutine.
type Options struct {
	Timeout   time.Duration        // the election timeout
	Monotonic func() time.Duration // for timeouts
	// Member returns this node's part in a cluster; nil: it has no part.
	Member func() *Member
	// Ask asks the node at an address for its view.
	Ask func(ctx context.Context, address string) (View, error)
	// MayLead reports whether this node may start an election.
	MayLead func() bool
	Log     *slog.Logger
}

// A Member is a node's part in a cluster.
type Member struct {
	Node   string // its id
	Raft   *raft.Raft
	Begun  time.Time // when raft was started
	TermOf func(index uint64) uint64
	// Promised returns the remaining time that the node must not elect a new leader; 0: it
	// may.
	Promised func() time.Duration
	// Elect makes raft start an election without a pre-vote.
	Elect func()
}

// A View is a node's view of its cluster.
type View struct {
	Node      string // its id
	Leader    string // id of its leader; empty: unknown
	Silent    bool   // see Watch.Wanted
	LastIndex uint64
	LastTerm  uint64 // of its last entry
}

// RaftTimeouts returns the timeout that raft itself gets for heartbeats and elections, and
// the time that a leader without a majority keeps leading.
func RaftTimeouts(timeout time.Duration) (follower, lease time.Duration) {
	return share(timeout, RaftShare), share(timeout, leaseShare)
}

// share returns a fraction of the election timeout.
func share(timeout time.Duration, of float64) time.Duration {
	return time.Duration(of * float64(timeout))
}

// A Watch follows the silence of this node's leader, and starts an election when a majority
// agrees to it. Concurrency: any goroutine.
type Watch struct {
	o         Options
	linksLost chan string  // ids of nodes with a raft link that ended
	excused   atomic.Int64 // by Options.Monotonic: when this process last ran late
	ended     atomic.Pointer[endedLeader]
	wait      sync.WaitGroup // for the questions to other nodes
}

// New returns a Watch. It does nothing before Run.
func New(o Options) *Watch { return &Watch{o: o, linksLost: make(chan string, 1)} }

func (w *Watch) shareOf(of float64) time.Duration { return share(w.o.Timeout, of) }

// An endedLeader is a leader that was found to have ended its process.
type endedLeader struct {
	node string
	at   time.Time
}

// LinkLost is called when a node ended a raft link. It does not block.
func (w *Watch) LinkLost(node string) {
	select {
	case w.linksLost <- node:
	default:
	}
}

// Wanted reports whether this node agrees to an election.
func (w *Watch) Wanted() bool {
	m := w.o.Member()
	return m != nil && w.agrees(m)
}

func (w *Watch) agrees(m *Member) bool { return w.untilSilent(m) <= 0 }

// untilSilent returns the time until this node agrees to an election if it hears from no
// leader meanwhile.
func (w *Watch) untilSilent(m *Member) time.Duration {
	if m.Raft.State() == raft.Leader {
		return w.shareOf(silentShare)
	}
	last := m.Raft.LastContact()
	if last.Before(m.Begun) {
		last = m.Begun
	}
	address, id := m.Raft.LeaderWithID()
	from, most := last, w.shareOf(silentShare)
	if gone := w.ended.Load(); gone != nil && gone.node == string(id) && gone.at.After(last) {
		from, most = gone.at, w.shareOf(endedShare)
	} else if address == "" {
		most = w.shareOf(leaderlessShare)
	}
	wait := max(most-time.Since(from), m.Promised())
	if excused := w.excused.Load(); excused > 0 {
		wait = max(wait, time.Duration(excused)+w.shareOf(excuseShare)-w.o.Monotonic())
	}
	return wait
}

// Run campaigns when the leader is silent for too long or its process has ended, until ctx
// ends.
func (w *Watch) Run(ctx context.Context) {
	defer w.wait.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	tries := 0
	for {
		due := w.o.Monotonic() + w.checkLeader(ctx, &tries)
		timer.Reset(due - w.o.Monotonic())
		select {
		case <-ctx.Done():
			return
		case node := <-w.linksLost:
			w.checkEnded(ctx, node)
			continue
		case <-timer.C:
		}
		if now := w.o.Monotonic(); now > due+w.shareOf(lateShare) {
			w.excused.Store(int64(now))
		}
	}
}

// checkLeader campaigns if the leader is silent, and returns the time until the next
// check.
func (w *Watch) checkLeader(ctx context.Context, tries *int) time.Duration {
	m := w.o.Member()
	if m == nil {
		return w.o.Timeout
	}
	if wait := w.untilSilent(m); wait > 0 {
		*tries = 0
		return wait
	}
	switch state := m.Raft.State(); {
	case state == raft.Candidate:
		return w.shareOf(splitShare * rand.Float64())
	case state == raft.Follower && w.o.MayLead() && w.campaign(ctx, m, *tries < deferTries):
		*tries++
	}
	return w.shareOf(retryShare)
}

// checkEnded checks, after a raft link of the leader ended, whether the leader's process
// has. A node that does not answer may be partitioned, and does not count as ended. The
// check ends when the leader would be silent for too long.
func (w *Watch) checkEnded(ctx context.Context, node string) {
	m := w.o.Member()
	if m == nil {
		return
	}
	address, id := m.Raft.LeaderWithID()
	if string(id) != node || m.Raft.State() == raft.Leader {
		return
	}
	at := time.Now()
	wait := w.untilSilent(m)
	ctx, cancel := context.WithTimeout(ctx, min(wait, w.shareOf(excuseShare)))
	defer cancel()
	switch p, err := w.o.Ask(ctx, string(address)); {
	case errors.Is(err, syscall.ECONNREFUSED), err == nil && p.Leader != node:
		w.ended.Store(&endedLeader{node, at})
	}
}

// A candidacy is a voter's answer about an election.
type candidacy struct {
	silent bool
	hears  bool // it answered that it has a leader
	node   string
	term   uint64 // of its last entry
	last   uint64
}

// betterThan reports whether a should be elected rather than b.
func (a *candidacy) betterThan(b *candidacy) bool {
	return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.last, b.last), cmp.Compare(b.node, a.node)) > 0
}

// campaign starts an election of this node if a majority of the voters, including this
// node, wants a new leader. If defers is set and one of those voters is the better
// candidate, it starts no election and returns true. After the first voter that has a
// leader, the remaining voters, including the silent leader, have retryShare to answer.
func (w *Watch) campaign(ctx context.Context, m *Member, defers bool) (deferred bool) {
	ctx, cancel := context.WithTimeout(ctx, w.shareOf(excuseShare))
	defer cancel()
	own := candidacy{node: m.Node, term: m.TermOf(m.Raft.LastIndex()), last: m.Raft.LastIndex()}
	answers := make(chan candidacy)
	voters, asked, votes := 0, 0, false
	for _, server := range m.Raft.GetConfiguration().Configuration().Servers {
		switch {
		case server.Suffrage != raft.Voter:
			continue
		case string(server.ID) == own.node:
			votes = true
		default:
			asked++
			w.wait.Go(func() {
				select {
				case answers <- w.askCandidacy(ctx, server):
				case <-ctx.Done():
				}
			})
		}
		voters++
	}
	agreed := 1
	var enough, over <-chan time.Time
	for ; asked > 0; asked-- {
		if agreed > voters/2 && enough == nil {
			enough = time.After(stragglerWait)
		}
		select {
		case other := <-answers:
			if other.hears && over == nil {
				over = time.After(w.shareOf(retryShare))
			}
			if !other.silent {
				continue
			}
			if agreed++; defers && other.betterThan(&own) {
				return true
			}
		case <-enough:
			asked = 1
		case <-over:
			asked = 1
		case <-ctx.Done():
			return false
		}
	}
	if !votes || agreed <= voters/2 || !w.agrees(m) {
		return false
	}
	w.o.Log.Info("the leader is silent; starting an election", "agreed", agreed, "voters", voters)
	m.Elect()
	return false
}

// askCandidacy asks a voter about an election.
func (w *Watch) askCandidacy(ctx context.Context, server raft.Server) candidacy {
	p, err := w.o.Ask(ctx, string(server.Address))
	answered := err == nil && p.Node == string(server.ID)
	return candidacy{silent: answered && p.Silent, hears: answered && !p.Silent, node: p.Node, term: p.LastTerm,
		last: p.LastIndex}
}
