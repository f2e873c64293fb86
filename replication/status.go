package replication

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// A Role is what a node is in its cluster.
type Role string

const (
	Leader    Role = "leader"
	Follower  Role = "follower"
	Candidate Role = "candidate" // or follower of nobody
	NonVoter  Role = "non-voter"
	NoMember  Role = "none"
)

// A Status is how a node and its cluster stand. Counts are since the start of the
// process.
type Status struct {
	Role            Role
	Cluster, Node   string
	Leader          string // id; empty: none is known
	Term            uint64
	LastIndex       uint64
	CommitIndex     uint64
	AppliedIndex    uint64
	LastContact     time.Duration // with the leader; of the leader 0; -1: never
	HasQuorum       bool
	Trouble         string         // why nothing is decided; empty: it is
	Members         []MemberStatus // of raft's latest configuration
	Level           int
	Ack             Ack
	Entries         int64 // carried out
	EntryBytes      int64
	Ops             int64 // of these entries
	Uncertain       int64 // batches answered so
	Forwarded       int64 // batches
	Refused         int64 // batches, for want of a quorum
	Allowed, Denied int64 // ops answered by --no-quorum allow and deny
	Locally         int64
	Elected         int64 // this node
	LeaderChanges   int64 // that this node has seen
	Installed       int64 // snapshots that the leader sent
	FirstIndex      uint64
	Restarts        int64
	Links           string // how nodes know each other: LinksOpen and such
	RefusedLinks    int64
	ClockClamps     int64
	ClockClamped    time.Duration // how far the nodes' clocks were ahead of the cluster's time at the last look, if by more than clockFar
	ClockOffset     time.Duration // of this node's clock to the cluster's, if it leads
	FsyncP99        time.Duration // of a store of the log
	LogBytes        int64
	LogSegments     int
	Snapshot        SnapshotStatus
	Saving          bool
}

// A MemberStatus is how a member stands as the node that is asked knows it.
type MemberStatus struct {
	Member
	Voter  bool
	Self   bool
	Leader bool
	Online bool // it was heard of lately, by the leader
	Index  uint64
	Seen   time.Duration // since it was heard of; -1: never
}

// SnapshotStatus is about the newest snapshot on disk and the last attempt.
type SnapshotStatus struct {
	Index, Bytes int64
	At           time.Time
	Took         time.Duration
	Err          error
	Count        int64
}

// Status costs a few locks.
func (n *Node) Status() Status {
	lead, id := n.leadership(), n.identity()
	st := Status{
		Role: NoMember, Cluster: id.Cluster.String(), Node: id.Node, Ack: n.o.Ack,
		Uncertain: n.counts.uncertain.Load(), Forwarded: n.counts.forwarded.Load(), Refused: n.counts.refused.Load(),
		Allowed: n.counts.allowed.Load(), Denied: n.counts.denied.Load(), Locally: n.counts.locally.Load(),
		Elected: n.counts.elected.Load(), LeaderChanges: n.counts.leaders.Load(), Restarts: n.counts.restarts.Load(), ClockClamps: n.counts.clamps.Load(),
		Links: n.linkProtection(), RefusedLinks: n.links.refusedLinks.Load(),
		ClockClamped: time.Duration(n.counts.clamped.Load()), ClockOffset: time.Duration(n.counts.offset.Load()),
	}
	if why := n.leaderError(); why != nil {
		st.Trouble = why.text
	}
	s := lead.stack
	if s == nil {
		return st
	}
	st.Leader, st.Term = lead.leader.Node, lead.term
	st.LastIndex, st.CommitIndex, st.AppliedIndex = s.raft.LastIndex(), s.raft.CommitIndex(), s.raft.AppliedIndex()
	st.FirstIndex, _ = s.entries.FirstIndex()
	st.Installed = s.fsm.counts.installed.Load()
	st.LastContact = -1
	if at := s.raft.LastContact(); !at.IsZero() {
		st.LastContact = time.Since(at)
	}
	if lead.elected {
		st.LastContact = 0
	}
	st.HasQuorum = lead.leading || !lead.elected && st.Leader != ""
	st.Level = s.fsm.level()
	c := &s.fsm.counts
	st.Entries, st.EntryBytes, st.Ops = c.entries.Load(), c.bytes.Load(), c.ops.Load()
	st.FsyncP99, st.LogBytes, st.LogSegments = s.entries.storeTimes.p99(), s.log.Bytes(), s.log.Segments()
	st.Saving = s.saving.Load()
	s.snapshotStatus(&st.Snapshot)
	n.membersStatus(s, lead, &st)
	return st
}

func (s *raftStack) snapshotStatus(st *SnapshotStatus) {
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	st.At, st.Took, st.Err, st.Count = s.lastSave.At, s.lastSave.Took, s.lastSave.Err, s.lastSave.Count
	st.Index, st.Bytes = int64(s.newest.Index), s.newest.Size
}

// membersStatus fills in the members, this node's role among them.
func (n *Node) membersStatus(s *raftStack, lead leadership, st *Status) {
	tell, news, now := s.fsm.members(), n.peers.all(), n.mono()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		m := MemberStatus{
			Member: tell[string(server.ID)], Voter: server.Suffrage == raft.Voter,
			Self: string(server.ID) == st.Node, Leader: string(server.ID) == st.Leader, Seen: -1,
		}
		m.Node, m.Raft = string(server.ID), string(server.Address)
		p, heard := news[m.Node]
		switch {
		case m.Self:
			m.Online, m.Index, m.Seen = true, st.LastIndex, 0
		case heard:
			m.Index, m.Seen = p.LastIndex, now-p.At
			m.Online = m.Seen < onlineFor(lead.elected)
		case m.Leader:
			m.Online, m.Index, m.Seen = true, st.LastIndex, st.LastContact
		}
		st.Members = append(st.Members, m)
	}
	st.Role = n.role(lead, st.Members)
}

func (n *Node) role(lead leadership, members []MemberStatus) Role {
	self := slices.IndexFunc(members, func(m MemberStatus) bool { return m.Self })
	switch {
	case lead.elected:
		return Leader
	case lead.leader.Node == "":
		return Candidate
	case self >= 0 && !members[self].Voter:
		return NonVoter
	}
	return Follower
}

// Digest is a hash of the state of this node at an entry: that of all nodes is the
// same at the same entry, if none decides while it is taken.
func (n *Node) Digest() (index uint64, digest uint64) {
	s := n.stack.Load()
	if s == nil {
		return 0, 0
	}
	index = s.fsm.index.Load()
	e := s.fsm.engine.Load()
	return index, e.Digest(e.Now())
}

// Moved is the address for clients of the node that leads, empty if it is this one
// or nobody knows.
func (n *Node) Moved() string {
	lead := n.leadership()
	if lead.stack == nil || lead.elected || lead.leader.Node == "" {
		return ""
	}
	lead.stack.fsm.mu.Lock()
	defer lead.stack.fsm.mu.Unlock()
	return lead.stack.fsm.state.Members[lead.leader.Node].Client
}
