package replication

import (
	"limitsrv/engine"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
	"limitsrv/replication/undecided"
)

// withoutQuorum answers a batch that no leader can decide, by Options.NoQuorum and the policies of
// its groups.
func (n *Node) withoutQuorum(r forward.Request) {
	var local undecided.Decide
	if s := n.stack.Load(); s != nil {
		local = func(chosen func([]engine.Op) bool) { n.local.decide(s.FSM, r.Batch, n.bound(), chosen) }
	}
	if !n.undecided.Answer(r.Batch, local) {
		r.Done(n.noQuorumError())
		return
	}
	n.o.undecided(r.Batch)
	r.Done(nil)
}

// noQuorumError returns the reason that requests are not decided. It is errNoQuorum only if
// this node has asked all other nodes since it lost the leader.
func (n *Node) noQuorumError() *link.Error {
	if why := n.leaderError(); why != nil {
		return why
	}
	return errLeaderSilent
}

// leaderError returns the reason that no leader is known, or nil.
func (n *Node) leaderError() *link.Error {
	lead := n.leadership()
	switch {
	case lead.stack == nil:
		return errNoMember
	case lead.leading || !lead.elected && lead.leader.Raft != "":
		return nil
	case n.noMajority.Load():
		return errNoQuorum
	}
	return errNoLeader
}
