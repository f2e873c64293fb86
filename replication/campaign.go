package replication

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Raft v1.7.3 finds a leader silent after one to three of its heartbeat timeouts, and after
// an election that fails, which one of two followers that have not both lost the leader is
// bound to, it rests for one to two more. To be quick with that a timeout must be short,
// and then a machine that gets no processor for a moment loses its leader. So followers
// agree here that there is none, and then one of them has raft elect at once; raft's own
// timeouts are longer. How far that is safe is raft's matter alone.
const (
	// silentShare is how long a leader may be silent, in election timeouts: one in which it
	// is stopped, and at most 0.34 since its last heartbeat.
	silentShare = 1.4
	// leaseShare is how long a leader that hears of no majority leads, in election timeouts:
	// less than silentShare, so that it answers no looks when another one decides.
	leaseShare = 1.3
	// raftShare is raft's own timeout, in election timeouts. Heartbeats come after a tenth to a
	// fifth of that. It is longer than an election that followers agree on takes at the worst,
	// about 1.65, because two nodes that stand at once split the votes.
	raftShare = 1.7
	// leaderlessShare is how long a node that knows no leader waits for the word of one.
	leaderlessShare = 0.5
	// lateShare is by how much this process may run late; if it is later, it waits
	// for excuseShare, in which it reads the messages that came meanwhile.
	lateShare, excuseShare = 0.1, 0.3
	// goneShare is how long there must be no word of a leader whose process has ended.
	endedShare = 0.1
	// againShare is how often the others are asked while there is no leader.
	retryShare = 0.05
	// deferTries is how often a node leaves the election to one that has more of the log.
	deferTries = 3
)

// shareOf is a part of the election timeout.
func (n *Node) shareOf(share float64) time.Duration {
	return time.Duration(share * float64(n.o.ElectionTimeout))
}

// silence is a node's record of its leader's silence. Many may use it at once.
type leaderSilence struct {
	linksLost    chan string  // ids of nodes whose link for raft has ended
	excused atomic.Int64 // by mono: when this process last ran late
	ended    atomic.Pointer[endedLeader]
}

// A goneLeader is a leader whose process was found to have ended.
type endedLeader struct {
	node string
	at   time.Time
}

func newLeaderSilence() leaderSilence { return leaderSilence{linksLost: make(chan string, 1)} }

// linkLost is told that a node has ended a link for raft. It does not block.
func (n *Node) linkLost(node string) {
	select {
	case n.silence.linksLost <- node:
	default:
	}
}

// isSilent says whether this node would have another leader.
func (n *Node) wantsNewLeader(s *raftStack) bool {
	wait, _ := n.untilSilent(s)
	return wait <= 0
}

// silentIn is how long it takes until this node would have another leader, if it hears of
// none meanwhile. known says whether it knows one.
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

// watchLeader is the goroutine that has this node stand for election when the leader is
// silent for too long, or its process has ended.
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

// watchNext looks at the leader, and returns when to look again.
func (n *Node) checkLeader(tries *int) time.Duration {
	s := n.stack.Load()
	if s == nil {
		return n.o.ElectionTimeout
	}
	if wait, _ := n.untilSilent(s); wait > 0 {
		*tries = 0
		return wait
	}
	if s.raft.State() == raft.Follower && !n.steppingDown.Load() && n.campaign(s, *tries < deferTries) {
		*tries++
	}
	return n.shareOf(retryShare)
}

// checkGone looks whether the process of the leader has ended, a link of which has. A node
// that does not answer may be cut off, and is not taken for one whose process has ended.
// It takes no longer than until the leader is silent for too long.
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
	switch err := n.links.call(ctx, string(address), callStatus, struct{}{}, &p); {
	case errors.Is(err, syscall.ECONNREFUSED), err == nil && p.Leader != node:
		n.silence.ended.Store(&endedLeader{node, at})
	}
}

// standing is a voter's word on an election.
type candidacy struct {
	silent bool
	hears  bool // it answered that it is content with its leader
	node   string
	term   uint64 // of its last entry
	last   uint64
}

// better says whether a is to be elected rather than b.
func (a *candidacy) betterThan(b *candidacy) bool {
	return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.last, b.last), cmp.Compare(b.node, a.node)) > 0
}

// stand has raft elect this node if a majority of the voters, this one among them, would
// have another leader. defers: only if no other of them is better; it says whether one is.
// Once a voter is content with its leader, the rest of them, the silent leader among them,
// have againShare left to answer.
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
	n.log.Info("the leader is silent: this node stands for election", "agreed", agreed, "voters", voters)
	n.forceElection(s)
	return false
}

// askStanding asks a voter about an election.
func (n *Node) askCandidacy(ctx context.Context, server raft.Server) candidacy {
	var p peerStatus
	err := n.links.call(ctx, string(server.Address), callStatus, struct{}{}, &p)
	answered := err == nil && p.Node == string(server.ID)
	return candidacy{silent: answered && p.Silent, hears: answered && !p.Silent, node: p.Node, term: p.LastTerm, last: p.LastIndex}
}

// electSelf has raft elect this node without asking first whether others would: it tells
// it so as a leader does that hands over.
func (n *Node) forceElection(s *raftStack) {
	id, address := raft.ServerID(n.identity().Node), raft.ServerAddress(n.o.Raft)
	request := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(address)}}
	if err := s.transport.TimeoutNow(id, address, &request, new(raft.TimeoutNowResponse)); err != nil && n.logOnce.first("elect") {
		n.log.Warn("an election can't be begun at once, and comes later", "error", err)
	}
}

// lastTerm is the term of the last entry, 0 if it is not known.
func (s *raftStack) lastTerm() uint64 {
	var entry raft.Log
	if err := s.entries.GetLog(s.raft.LastIndex(), &entry); err == nil {
		return entry.Term
	}
	if newest := s.snapshots.newest.Load(); newest != nil && newest.Index == s.raft.LastIndex() {
		return newest.Term
	}
	return 0
}
