package replication

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/histogram"
	"limitsrv/replication/fsm"
)

// A Role is a node's role in its cluster.
type Role string

const (
	Leader    Role = "leader"
	Follower  Role = "follower"
	Candidate Role = "candidate" // also a follower without a leader
	NonVoter  Role = "non-voter"
	NoMember  Role = "none"
)

// A Status describes a node and its cluster. Counts are since the start of the process.
type Status struct {
	Role            Role
	Cluster, Node   string
	Leader          string // id; empty: unknown
	Term            uint64
	LastIndex       uint64
	CommitIndex     uint64
	AppliedIndex    uint64
	LastContact     time.Duration // with the leader; 0 on the leader; -1: never
	HasQuorum       bool
	Trouble         string         // the reason for which requests are not decided; empty: they are
	Members         []MemberStatus // of raft's latest configuration
	Level           int
	Ack             Ack
	Entries         int64 // applied
	EntryBytes      int64
	Ops             int64 // in these entries
	Uncertain       int64 // batches answered UNCERTAIN
	Forwarded       int64 // batches
	Refused         int64 // batches refused because there was no quorum
	Allowed, Denied int64 // ops answered by --no-quorum allow and deny
	Locally         int64
	Elected         int64 // elections won by this node
	LeaderChanges   int64 // seen by this node
	Installed       int64 // snapshots received from the leader
	FirstIndex      uint64
	Restarts        int64
	Links           string // authentication of links: link.AuthOpen etc.
	RefusedLinks    int64
	ClockClamps     int64
	ClockClamped    time.Duration // distance of the nodes' clocks ahead of the cluster's time at the last measurement, if beyond clockWarnDistance
	ClockOffset     time.Duration // of this node's clock to the cluster's, if it leads
	FsyncP99        time.Duration // of a store of the log
	LogBytes        int64
	LogSegments     int
	Snapshot        SnapshotStatus
	Saving          bool
}

// A MemberStatus describes a member as seen by the queried node.
type MemberStatus struct {
	fsm.Member
	Voter  bool
	Self   bool
	Leader bool
	Online bool // the leader heard from it recently
	Index  uint64
	Seen   time.Duration // time since it was heard from; -1: never
}

// A SnapshotStatus describes the newest snapshot on disk and the last attempt.
type SnapshotStatus struct {
	Index, Bytes int64
	At           time.Time
	Took         time.Duration
	Err          error
	Count        int64
}

// Status returns the current status. Cost: a few locks.
func (n *Node) Status() Status {
	lead, id := n.leadership(), n.identity()
	st := Status{
		Role: NoMember, Cluster: id.Cluster.String(), Node: id.Node, Ack: n.o.Ack,
		Uncertain: n.batcher.counts.uncertain.Load(), Forwarded: n.batcher.counts.forwarded.Load(), Refused: n.counts.refused.Load(),
		Allowed: n.counts.allowed.Load(), Denied: n.counts.denied.Load(), Locally: n.counts.locally.Load(),
		Elected: n.counts.elected.Load(), LeaderChanges: n.counts.leaders.Load(), Restarts: n.counts.restarts.Load(), ClockClamps: n.counts.clamps.Load(),
		Links: n.links.Authentication(), RefusedLinks: n.links.RefusedCount(),
		ClockClamped: time.Duration(n.counts.clamped.Load()), ClockOffset: time.Duration(n.counts.offset.Load()),
	}
	if why := n.leaderError(); why != nil {
		st.Trouble = why.Error()
	}
	s := lead.stack
	if s == nil {
		return st
	}
	st.Leader, st.Term = lead.leader.Node, lead.term
	st.LastIndex, st.CommitIndex, st.AppliedIndex = s.raft.LastIndex(), s.raft.CommitIndex(), s.raft.AppliedIndex()
	st.FirstIndex, _ = s.Entries.FirstIndex()
	st.LastContact = -1
	if at := s.raft.LastContact(); !at.IsZero() {
		st.LastContact = time.Since(at)
	}
	if lead.elected {
		st.LastContact = 0
	}
	st.HasQuorum = lead.leading || !lead.elected && st.Leader != ""
	st.Level = s.FSM.Level()
	applied := s.FSM.Counts()
	st.Entries, st.EntryBytes, st.Ops, st.Installed = applied.Entries, applied.Bytes, applied.Ops, applied.Installed
	var stores histogram.Distribution
	stores.Add(&s.StoreTimes)
	st.FsyncP99, st.LogBytes, st.LogSegments = stores.Percentile(990), s.Log.Bytes(), s.Log.Segments()
	st.Saving = s.saving.Load()
	s.snapshotStatus(&st.Snapshot)
	n.membersStatus(s, lead, &st)
	return st
}

func (s *raftStack) snapshotStatus(st *SnapshotStatus) {
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	st.At, st.Took, st.Err, st.Count = s.lastSave.At, s.lastSave.Took, s.lastSave.Err, s.lastSave.Count
	newest := s.Newest()
	st.Index, st.Bytes = int64(newest.Index), newest.Size
}

// membersStatus fills in the members and this node's role.
func (n *Node) membersStatus(s *raftStack, lead leadership, st *Status) {
	tell, reports, now := s.FSM.Members(), n.peers.all(), n.mono()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		m := MemberStatus{
			Member: tell[string(server.ID)], Voter: server.Suffrage == raft.Voter,
			Self: string(server.ID) == st.Node, Leader: string(server.ID) == st.Leader, Seen: -1,
		}
		m.Node, m.Raft = string(server.ID), string(server.Address)
		p, known := reports[m.Node]
		switch {
		case m.Self:
			m.Online, m.Index, m.Seen = true, st.LastIndex, 0
		case known:
			m.Index, m.Seen = p.LastIndex, now-p.At
			m.Online = m.Seen < onlineFor(lead.elected)
		case m.Leader:
			m.Online, m.Index, m.Seen = true, st.LastIndex, st.LastContact
		}
		st.Members = append(st.Members, m)
	}
	st.Role = roleOf(lead, st.Members)
}

// roleOf returns the role of a node among the members.
func roleOf(lead leadership, members []MemberStatus) Role {
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

// Digest returns a hash of this node's state and the entry it belongs to. At the same
// entry all nodes have the same digest, if no entry is applied during the calls.
func (n *Node) Digest() (index uint64, digest uint64) {
	s := n.stack.Load()
	if s == nil {
		return 0, 0
	}
	index = s.FSM.Index()
	e := s.FSM.Engine()
	return index, e.Digest(e.Now())
}

// Moved returns the leader's address for clients, or "" if this node leads or the leader
// is unknown.
func (n *Node) Moved() string {
	lead := n.leadership()
	if lead.stack == nil || lead.elected || lead.leader.Node == "" {
		return ""
	}
	return lead.fsm.Member(lead.leader.Node).Client
}
