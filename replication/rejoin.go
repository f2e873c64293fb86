package replication

import (
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// diverged is called by the FSM.
func (n *Node) diverged(why *fsm.DivergedError) { n.wait.Go(func() { n.rejoin(why) }) }

// warnSkipped is called by the FSM.
func (n *Node) warnSkipped(index uint64) {
	n.log.Warn("entry of the log skipped: its decisions are lost; the data directories in which it was skipped keep it "+
		"in a file", "entry", index)
}

// rejoin makes this node, whose state differs from the leader's, a member without a state
// and under a new id: so it gets the leader's state. It returns when that is done or the
// node stops.
//
// Until the leader has admitted it, the node applies no entry and can't lead, but its raft
// goes on: its log and its votes are right, and a majority may need them.
func (n *Node) rejoin(why *fsm.DivergedError) {
	n.log.Error("this node decides no more; it joins the cluster again under a new id and gets the leader's state",
		"reason", why)
	n.counts.diverged.Add(1)
	if err := n.setMember(func(m *storage.Membership) { m.Diverged = why.Index }); err != nil {
		n.fatal(err)
		return
	}
	n.joinOrBootstrap()
}

// isMember reports whether this node is a member with a right state.
func (n *Node) isMember() bool {
	s := n.stack.Load()
	return s != nil && !s.FSM.Diverged()
}

// fullTrailing is the number of entries kept before a snapshot that replaces the log.
const fullTrailing = 1

// saveBeyond takes a snapshot that has an entry, and drops the log before it, unless that
// was done: so a node without a state gets the effects of the entry, and does not carry it
// out itself. Requires: this node leads.
func (n *Node) saveBeyond(entry uint64) error {
	s, err := n.leaderStack()
	if err != nil {
		return err
	}
	first, err := s.Entries.FirstIndex()
	if err != nil || first > 1 && s.Newest().Index >= entry {
		return err
	}
	if !s.saving.Take() {
		return persist.ErrSaving
	}
	defer s.saving.Free()
	return n.save(s, fullTrailing)
}
