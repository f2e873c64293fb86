package replication

import (
	"errors"

	"github.com/hashicorp/raft"
)

// lead is the goroutine that follows whether this node is elected.
func (n *Node) lead(s *seat) {
	for {
		select {
		case <-s.gone:
			return
		case elected := <-s.notify:
			n.led.Store(0)
			if elected {
				n.counts.elected.Add(1)
				n.takeOffice(s)
			}
			n.group.kick()
		}
	}
}

// tellLeader logs that another node leads, once in a term. lead tells of this node itself.
func (n *Node) tellLeader(s *seat, o raft.LeaderObservation) {
	term := s.raft.CurrentTerm()
	if o.LeaderID == "" || string(o.LeaderAddr) == n.o.Raft || s.told.Swap(term) == term {
		return
	}
	n.log.Info("another node leads the cluster", "node", string(o.LeaderID), "raft", string(o.LeaderAddr), "term", term)
}

// takeOffice has this node decide, when it has carried out all that was committed
// before, and knows the time.
func (n *Node) takeOffice(s *seat) {
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
	stepped := n.makeGood(s)
	if s.raft.CurrentTerm() != term || !isLeader(s.raft) {
		return // notify has more to say
	}
	n.led.Store(term)
	n.log.Info("this node leads the cluster", "term", term, "index", s.raft.LastIndex(),
		"time_made_good", stepped)
}
