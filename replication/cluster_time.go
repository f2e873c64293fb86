package replication

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

const (
	// stragglerWait bounds a new leader's wait for more clocks than a majority.
	stragglerWait = 10 * time.Millisecond
	// clockPollInterval is the interval of polls until a majority has answered.
	clockPollInterval = 20 * time.Millisecond
)

// clockAnswers are the voters' answers about the time, including this node's own.
type clockAnswers struct {
	differences []time.Duration // of their clocks to wall
	uncertainty time.Duration   // the largest uncertainty of an answer
	voters      int             // number of voters
	// stored is the earliest time, by mono, that a node had stored the last decision, of
	// the nodes that have been running since: the decision was made before that. witnessed:
	// such a node answered.
	stored    time.Duration
	witnessed bool
}

// hasMajority reports whether a majority has answered.
func (w *clockAnswers) hasMajority() bool { return len(w.differences) > w.voters/2 }

// catchUpClock sets the leader's clock before its first decision, and returns the size of
// the step, 0 if no decision was ever made. It polls the voters until a majority has answered, at most for callTimeout;
// without a majority the clock continues from the last stamp.
//
// If no voter that answers has been running since the last decision, for example because
// all were restarted, only the clocks tell how long ago that was: the clock steps to them,
// as at the start of a single server.
func (n *Node) catchUpClock(s *raftStack) time.Duration {
	last := s.FSM.Stamp()
	n.clock.start(last)
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	wall := n.monotonicWall()
	w := n.pollMembers(ctx, s, wall, true)
	for !w.hasMajority() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(clockPollInterval):
			w = n.pollMembers(ctx, s, wall, true)
		}
	}
	target := last
	switch {
	case w.hasMajority():
		target = wall() + engine.Instant(clockOffset(w.differences, w.voters)-w.uncertainty)
	case last == 0: // no decision was ever made
		target = wall()
	default:
		n.log.Warn(textTimeByStamp, "clocks", len(w.differences), "voters", w.voters)
	}
	switch {
	case last == 0:
	case w.witnessed:
		target = min(target, last+engine.Instant(n.mono()-w.stored))
	case w.hasMajority():
		n.log.Info(textTimeByClocks, "last_decision", time.Unix(0, int64(last)))
	}
	stepped := n.clock.step(target)
	n.followClocks(wall(), w)
	if last == 0 {
		return 0 // from no time
	}
	return stepped
}

// Tests match these texts.
const (
	textTimeByStamp  = "no majority of the nodes has reported its clock: the cluster's time continues from the last stamp"
	textTimeByClocks = "no node has been running since the last decision: the cluster's time continues from the clocks " +
		"of a majority"
)

// syncClock polls all other members, and adjusts the leader's clock to theirs.
func (n *Node) syncClock(ctx context.Context, s *raftStack) {
	wall := n.monotonicWall()
	w := n.pollMembers(ctx, s, wall, false)
	n.followClocks(wall(), w)
}

// monotonicWall returns this node's wall clock, unaffected by later changes of it.
func (n *Node) monotonicWall() func() engine.Instant {
	read, began := n.wall(), n.o.Monotonic()
	return func() engine.Instant { return read + engine.Instant(n.o.Monotonic()-began) }
}

// pollMembers asks all other members for their status and compares their clocks with wall.
// hasty: it returns stragglerWait after a majority, including this node, has answered.
func (n *Node) pollMembers(ctx context.Context, s *raftStack, wall func() engine.Instant, hasty bool) clockAnswers {
	servers := s.raft.GetConfiguration().Configuration().Servers
	self := n.identity().Node
	answers := make(chan *clockAnswer, len(servers))
	w := clockAnswers{differences: []time.Duration{0}}
	last := s.FSM.Index()
	index, at := s.Entries.LastStored()
	w.noteStored(index, at, last)
	asked := 0
	for _, server := range servers {
		voter := server.Suffrage == raft.Voter
		if voter {
			w.voters++
		}
		if string(server.ID) == self {
			continue
		}
		asked++
		n.wait.Go(func() {
			answer := n.pollMember(ctx, wall, server)
			if !voter {
				answer = nil
			}
			answers <- answer
		})
	}
	var enough <-chan time.Time
	for ; asked > 0; asked-- {
		if hasty && enough == nil && w.hasMajority() {
			enough = time.After(stragglerWait)
		}
		select {
		case answer := <-answers:
			w.add(answer, last)
		case <-enough:
			return w
		}
	}
	return w
}

// A clockAnswer is the answer of a voter.
type clockAnswer struct {
	difference, uncertainty time.Duration
	index                   uint64        // of the last entry that it stored since its start; 0: no entry
	stored                  time.Duration // by mono: when it was stored, or later
}

// add adds a voter's answer, nil if it gave no answer. last is the index of the last
// decision.
func (w *clockAnswers) add(answer *clockAnswer, last uint64) {
	if answer == nil {
		return
	}
	w.differences = append(w.differences, answer.difference)
	w.uncertainty = max(w.uncertainty, answer.uncertainty)
	w.noteStored(answer.index, answer.stored, last)
}

// noteStored records that a voter had stored an entry at a time by mono.
func (w *clockAnswers) noteStored(index uint64, stored time.Duration, last uint64) {
	if index > 0 && index >= last && (!w.witnessed || stored < w.stored) {
		w.stored, w.witnessed = stored, true
	}
}

// pollMember asks a member for its status and the difference of its clock to wall, read at
// the middle of the call. A difference of at most half the call's duration counts as 0, so
// that clocks that agree do not move the time.
func (n *Node) pollMember(ctx context.Context, wall func() engine.Instant, server raft.Server) *clockAnswer {
	began, read := n.o.Monotonic(), wall()
	var p peerStatus
	if err := n.links.Call(ctx, string(server.Address), callStatus, struct{}{}, &p); err != nil ||
		p.Node != string(server.ID) {
		return nil
	}
	half := (n.o.Monotonic() - began) / 2
	w := clockAnswer{difference: time.Duration(p.Wall-read) - half, uncertainty: half, index: p.Stored,
		stored: n.mono() - p.Idle}
	if w.difference.Abs() <= half {
		w.difference = 0
	}
	n.peers.record(peerReport{peerStatus: p, At: n.mono(), Clock: w.difference, Compared: true})
	return &w
}

// followClocks adjusts the leader's clock to the voters' answers, relative to wall.
func (n *Node) followClocks(wall engine.Instant, w clockAnswers) {
	n.counts.compared.Store(w.hasMajority())
	if !w.hasMajority() {
		n.clock.freeRun()
		return
	}
	offset := clockOffset(w.differences, w.voters)
	n.counts.offset.Store(int64(-offset))
	off := n.clock.follow(wall + engine.Instant(offset))
	if off.Abs() <= clockWarnDistance {
		off = 0
	}
	n.counts.clamped.Store(int64(off))
	if off == 0 {
		return
	}
	n.counts.clamps.Add(1)
	if n.logOnce.Allow("clock") {
		n.log.Warn("the cluster's time is far from the nodes' clocks; it follows them by at most one part in a thousand",
			"off", off, "clocks", len(w.differences), "voters", w.voters)
	}
}
