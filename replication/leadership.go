package replication

import (
	"errors"

	"github.com/hashicorp/raft"
)

// lead is the goroutine that follows whether this node is elected.
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

// tellLeader logs that another node leads, once in a term. lead tells of this node itself.
func (n *Node) logLeader(s *raftStack, o raft.LeaderObservation) {
	term := s.raft.CurrentTerm()
	if o.LeaderID == "" || string(o.LeaderAddr) == n.o.Raft || s.loggedTerm.Swap(term) == term {
		return
	}
	n.log.Info("another node leads the cluster", "node", string(o.LeaderID), "raft", string(o.LeaderAddr), "term", term)
}

// takeOffice has this node decide, when it has carried out all that was committed
// before, and knows the time.
func (n *Node) becomeLeader(s *raftStack) {
	term := s.raft.CurrentTerm()
	for {
		err := s.raft.Barrier(n.rpcTimeout()).Error()
		if err == nil {
			break
		}
		if !errors.Is(err, raft.ErrEnqueueTimeout) {
			n.log.Info("elected, and no leader any more", "term", term, "error", err)
			return
		}
	}
	stepped := n.catchUpClock(s)
	if s.raft.CurrentTerm() != term || !isLeader(s.raft) {
		return // notify has more to say
	}
	n.leadingTerm.Store(term)
	n.log.Info("this node leads the cluster", "term", term, "index", s.raft.LastIndex(),
		"time_made_good", stepped)
}
