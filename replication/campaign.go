package replication

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Raft v1.7.3 detects a silent leader after one to three heartbeat timeouts. After a
// failed election, which is certain for one of two followers if the other still hears the
// leader, it waits for one to two more. Fast failover would need a short timeout, and then
// a machine that gets no processor for a moment would lose its leader. So followers agree
// here that there is no leader, and then one of them starts an election at once; raft's
// own timeouts are longer. Safety depends on raft alone.
const (
	// silentShare is the leader silence after which a follower wants an election, in
	// election timeouts: one in which the leader is stopped, and at most 0.34 since its
	// last heartbeat.
	silentShare = 1.4
	// leaseShare is the time for which a leader without a majority keeps leading, in
	// election timeouts: less than silentShare, so that it answers no reads once another
	// node decides.
	leaseShare = 1.3
	// raftShare is raft's own timeout, in election timeouts. Heartbeats follow after a
	// tenth to a fifth of it. It exceeds the worst case of an agreed election, about 1.65,
	// because two simultaneous candidates split the votes.
	raftShare = 1.7
	// leaderlessShare is the time for which a node without a leader waits to hear from
	// one.
	leaderlessShare = 0.5
	// lateShare is the delay of this process's timers that is accepted; after a longer one
	// it waits for excuseShare, to read the messages that arrived meanwhile.
	lateShare, excuseShare = 0.1, 0.3
	// endedShare is the silence required of a leader after its process has ended.
	endedShare = 0.1
	// retryShare is the interval of attempts while there is no leader. A candidate tries
	// again after a random pause of at most splitShare, because two of them would otherwise
	// split the votes at each attempt (Ongaro and Ousterhout, In Search of an
	// Understandable Consensus Algorithm, 2014, 5.2).
	retryShare, splitShare = 0.05, 0.5
	// deferTries is the number of attempts at which a node leaves the election to one with
	// more of the log.
	deferTries = 3
)

// shareOf returns a fraction of the election timeout.
func (n *Node) shareOf(share float64) time.Duration {
	return time.Duration(share * float64(n.o.ElectionTimeout))
}

// A leaderSilence is a node's record of its leader's silence. Concurrency: any goroutine.
type leaderSilence struct {
	linksLost chan string  // ids of nodes with a raft link that ended
	excused   atomic.Int64 // by mono: when this process last ran late
	ended     atomic.Pointer[endedLeader]
}

// An endedLeader is a leader that was found to have ended its process.
type endedLeader struct {
	node string
	at   time.Time
}

func newLeaderSilence() leaderSilence { return leaderSilence{linksLost: make(chan string, 1)} }

// linkLost is called when a node ended a raft link. It does not block.
func (n *Node) linkLost(node string) {
	select {
	case n.silence.linksLost <- node:
	default:
	}
}

// wantsNewLeader reports whether this node agrees to an election.
func (n *Node) wantsNewLeader(s *raftStack) bool {
	wait, _ := n.untilSilent(s)
	return wait <= 0
}

// untilSilent returns the time until this node agrees to an election if it hears from no
// leader meanwhile, and whether it knows a leader.
func (n *Node) untilSilent(s *raftStack) (wait time.Duration, known bool) {
	if isLeader(s.raft) {
		return n.shareOf(silentShare), true
	}
	last := s.raft.LastContact()
	if last.Before(s.begun) {
		last = s.begun
	}
	address, id := s.raft.LeaderWithID()
	from, most := last, n.shareOf(silentShare)
	if gone := n.silence.ended.Load(); gone != nil && gone.node == string(id) && gone.at.After(last) {
		from, most = gone.at, n.shareOf(endedShare)
	} else if address == "" {
		most = n.shareOf(leaderlessShare)
	}
	wait = most - time.Since(from)
	if excused := n.silence.excused.Load(); excused > 0 {
		wait = max(wait, time.Duration(excused)+n.shareOf(excuseShare)-n.mono())
	}
	return wait, address != ""
}

// watchLeader is the goroutine that campaigns when the leader is silent for too long or
// its process has ended.
func (n *Node) watchLeader() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	tries := 0
	for {
		due := n.mono() + n.checkLeader(&tries)
		timer.Reset(due - n.mono())
		select {
		case <-n.stopping.Done():
			return
		case node := <-n.silence.linksLost:
			n.checkEnded(node)
			continue
		case <-timer.C:
		}
		if now := n.mono(); now > due+n.shareOf(lateShare) {
			n.silence.excused.Store(int64(now))
		}
	}
}

// checkLeader campaigns if the leader is silent, and returns the time until the next
// check.
func (n *Node) checkLeader(tries *int) time.Duration {
	s := n.stack.Load()
	if s == nil {
		return n.o.ElectionTimeout
	}
	if wait, _ := n.untilSilent(s); wait > 0 {
		*tries = 0
		return wait
	}
	switch state := s.raft.State(); {
	case state == raft.Candidate:
		return n.shareOf(splitShare * rand.Float64())
	case state == raft.Follower && !n.steppingDown.Load() && n.campaign(s, *tries < deferTries):
		*tries++
	}
	return n.shareOf(retryShare)
}

// checkEnded checks, after a raft link of the leader ended, whether the leader's process
// has. A node that does not answer may be partitioned, and does not count as ended. The
// check ends when the leader would be silent for too long.
func (n *Node) checkEnded(node string) {
	s := n.stack.Load()
	if s == nil {
		return
	}
	address, id := s.raft.LeaderWithID()
	if string(id) != node || isLeader(s.raft) {
		return
	}
	at := time.Now()
	wait, _ := n.untilSilent(s)
	ctx, cancel := context.WithTimeout(n.stopping, min(wait, n.shareOf(excuseShare)))
	defer cancel()
	var p peerStatus
	switch err := n.links.Call(ctx, string(address), callStatus, struct{}{}, &p); {
	case errors.Is(err, syscall.ECONNREFUSED), err == nil && p.Leader != node:
		n.silence.ended.Store(&endedLeader{node, at})
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
// one, wants a new leader. If defers is set, it starts none and returns true if one of
// those voters is the better candidate. After the first voter that has a leader, the
// remaining ones, including the silent leader, have retryShare to answer.
func (n *Node) campaign(s *raftStack, defers bool) (deferred bool) {
	ctx, cancel := context.WithTimeout(n.stopping, n.shareOf(excuseShare))
	defer cancel()
	own := candidacy{node: n.identity().Node, term: s.lastTerm(), last: s.raft.LastIndex()}
	answers := make(chan candidacy)
	voters, asked, votes := 0, 0, false
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		switch {
		case server.Suffrage != raft.Voter:
			continue
		case string(server.ID) == own.node:
			votes = true
		default:
			asked++
			n.wait.Go(func() {
				select {
				case answers <- n.askCandidacy(ctx, server):
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
				over = time.After(n.shareOf(retryShare))
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
	if !votes || agreed <= voters/2 || !n.wantsNewLeader(s) {
		return false
	}
	n.log.Info("the leader is silent; starting an election", "agreed", agreed, "voters", voters)
	n.forceElection(s)
	return false
}

// askCandidacy asks a voter about an election.
func (n *Node) askCandidacy(ctx context.Context, server raft.Server) candidacy {
	var p peerStatus
	err := n.links.Call(ctx, string(server.Address), callStatus, struct{}{}, &p)
	answered := err == nil && p.Node == string(server.ID)
	return candidacy{silent: answered && p.Silent, hears: answered && !p.Silent, node: p.Node, term: p.LastTerm, last: p.LastIndex}
}

// forceElection makes raft start an election without a pre-vote: it sends itself the
// request of a leader that transfers leadership.
func (n *Node) forceElection(s *raftStack) {
	id, address := raft.ServerID(n.identity().Node), raft.ServerAddress(n.o.Raft)
	request := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(address)}}
	if err := s.transport.TimeoutNow(id, address, &request, new(raft.TimeoutNowResponse)); err != nil && n.logOnce.Allow("elect") {
		n.log.Warn("can't start an election now; raft starts one later", "error", err)
	}
}

// lastTerm returns the term of the last entry, 0 if it is unknown.
func (s *raftStack) lastTerm() uint64 {
	var entry raft.Log
	if err := s.entries.GetLog(s.raft.LastIndex(), &entry); err == nil {
		return entry.Term
	}
	if index, term := s.snapshots.Newest(); index == s.raft.LastIndex() {
		return term
	}
	return 0
}
