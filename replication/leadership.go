package replication

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/replication/election"
)

// watchLeadership is the goroutine that follows the elections of this node.
func (n *Node) watchLeadership(s *raftStack) {
	for {
		select {
		case <-s.stopped:
			return
		case elected := <-s.notify:
			n.leadingTerm.Store(0)
			n.o.Notices.Outdated()
			if elected {
				n.counts.elected.Add(1)
				n.becomeLeader(s)
			}
			n.batcher.Kick()
			n.looks.kickIfAny()
		}
	}
}

// logLeader logs that another node leads, once per term. becomeLeader logs it for this
// node.
func (n *Node) logLeader(s *raftStack, o raft.LeaderObservation) {
	term := s.raft.CurrentTerm()
	if o.LeaderID == "" || string(o.LeaderAddr) == n.o.Raft || s.loggedTerm.Swap(term) == term {
		return
	}
	n.log.Info("another node leads the cluster", "node", string(o.LeaderID), "raft", string(o.LeaderAddr), "term", term)
}

// becomeLeader makes this node decide, after it has applied all committed entries and set
// the leader's clock.
func (n *Node) becomeLeader(s *raftStack) {
	term := s.raft.CurrentTerm()
	for {
		err := s.raft.Barrier(n.rpcTimeout()).Error()
		if err == nil {
			break
		}
		if !errors.Is(err, raft.ErrEnqueueTimeout) {
			n.log.Info("leadership lost before the first decision", "term", term, "error", err)
			return
		}
	}
	stepped := n.catchUpClock(s)
	if !n.logDivision(s) {
		n.log.Info("leadership lost before the first decision", "term", term)
		return
	}
	if s.raft.CurrentTerm() != term || !isLeader(s.raft) || s.FSM.Diverged() {
		return // another notification follows, or this node leaves
	}
	s.FSM.SetCurrent(s.raft.AppliedIndex())
	n.leadingTerm.Store(term)
	n.log.Info("this node leads the cluster", "term", term, "index", s.raft.LastIndex(),
		"clock_step", stepped)
}

// newElections returns the watch of this node's leader.
func (n *Node) newElections() *election.Watch {
	return election.New(election.Options{
		Timeout: n.o.ElectionTimeout, Monotonic: n.mono, Log: n.log,
		MayLead: func() bool { return !n.steppingDown.Load() && n.isMember() },
		Member: func() *election.Member {
			s := n.stack.Load()
			if s == nil {
				return nil
			}
			return &election.Member{Node: n.identity().Node, Raft: s.raft, Begun: s.begun, TermOf: s.TermOf,
				Promised: s.promised, Elect: func() { n.elect(s) }}
		},
		Ask: func(ctx context.Context, address string) (election.View, error) {
			var p peerStatus
			err := n.links.Call(ctx, address, callStatus, struct{}{}, &p)
			return election.View{Node: p.Node, Leader: p.Leader, Silent: p.Silent, LastIndex: p.LastIndex, LastTerm: p.LastTerm},
				err
		},
	})
}

// promised returns the remaining time that this node must not elect another leader; 0: it
// may.
func (s *raftStack) promised() time.Duration { return s.promise.Left(0, s.raft.CurrentTerm()) }

// elect makes raft start an election without a pre-vote: it sends itself the request of a
// leader that transfers leadership.
func (n *Node) elect(s *raftStack) {
	id, address := raft.ServerID(n.identity().Node), raft.ServerAddress(n.o.Raft)
	request := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id),
		Addr: []byte(address)}}
	if err := s.transport.TimeoutNow(id, address, &request, new(raft.TimeoutNowResponse)); err != nil &&
		n.logOnce.Allow("elect") {
		n.log.Warn("can't start an election now; raft starts one later", "error", err)
	}
}
