package replication

import (
	"errors"

	"github.com/hashicorp/raft"
)

// watchLeadership is the goroutine that follows the elections of this node.
func (n *Node) watchLeadership(s *raftStack) {
	for {
		select {
		case <-s.stopped:
			return
		case elected := <-s.notify:
			n.leadingTerm.Store(0)
			if elected {
				n.counts.elected.Add(1)
				n.becomeLeader(s)
			}
			n.batcher.kick()
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
	if s.raft.CurrentTerm() != term || !isLeader(s.raft) {
		return // another notification follows
	}
	n.leadingTerm.Store(term)
	n.log.Info("this node leads the cluster", "term", term, "index", s.raft.LastIndex(),
		"clock_step", stepped)
}
