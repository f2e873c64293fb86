package replication

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine/slots"
	"limitsrv/internal/histogram"
	"limitsrv/internal/status"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// Status returns the status of the log and the snapshots. Cost: a few locks.
func (n *Node) Status() status.Store {
	st := status.Store{Fsync: n.o.policy().String(), Saved: status.Snapshot{Keys: n.Engine().Len()}}
	s := n.stack.Load()
	if s == nil {
		return st
	}
	st.Log.Bytes, st.Log.Segments = s.Log.Bytes(), s.Log.Segments()
	st.Saving.Since = s.saving.Since()
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	st.Saved.At, st.Saved.Took, st.Saved.Err, st.Saved.Count = s.lastSave.At, s.lastSave.Took, s.lastSave.Err,
		s.lastSave.Count
	st.Saved.Bytes = s.Newest().Size
	return st
}

// Replication returns the status of the node in its cluster. Cost: a few locks.
func (n *Node) Replication() status.Replication {
	lead := n.leadership()
	r := status.Replication{
		Role: n.statusRole(lead), ClusterID: n.identity().Cluster.String(),
		Ack: string(n.o.Ack), Fsync: n.o.policy().String(), NoQuorum: string(n.o.NoQuorum), Links: n.links.Authentication(),
		Totals: n.totals(),
		Clock: status.Clock{
			Offset: -time.Duration(n.counts.offset.Load()), Clamps: n.counts.clamps.Load(),
			Clamped: time.Duration(n.counts.clamped.Load()),
		},
	}
	if why := n.leaderError(); why != nil {
		r.Trouble = why.Error()
	}
	s := lead.stack
	if s == nil {
		return r
	}
	r.Term, r.HasQuorum, r.LastContact = lead.term, lead.leading || !lead.elected && lead.leader.Node != "",
		lead.lastContact()
	if r.HasQuorum {
		r.Pending = n.pending(lead)
	}
	r.LastIndex, r.CommitIndex, r.AppliedIndex = s.raft.LastIndex(), s.raft.CommitIndex(), s.raft.AppliedIndex()
	r.FirstIndex, _ = s.Entries.FirstIndex()
	r.FeatureLevel = uint64(s.FSM.Level())
	r.Fronts = n.fronts.Count()
	applied := s.FSM.Counts()
	r.Totals.Entries, r.Totals.EntryBytes, r.Totals.Decisions = applied.Entries, applied.Bytes, applied.Ops
	var stores histogram.Distribution
	stores.Add(&s.StoreTimes)
	r.FsyncP99 = stores.Percentile(990)
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	newest := s.Newest()
	r.Snapshot = status.ReplicatedSnapshot{Index: newest.Index, At: s.lastSave.At, Bytes: newest.Size,
		Installed: applied.Installed}
	return r
}

// totals returns the counts of the node, which a restart of raft does not reset.
func (n *Node) totals() status.Totals {
	c := &n.counts
	sent, dropped := n.messages.Counts()
	forwarded, uncertain := n.batcher.Counts()
	return status.Totals{
		Forwarded: forwarded, Uncertain: uncertain,
		NoQuorum: n.undecided.Answered(), Local: n.undecided.Locally.Load(), Refused: n.undecided.Refused.Load(),
		Elections: c.elected.Load(), LeaderChanges: c.leaders.Load(), Restarts: c.restarts.Load(),
		RefusedLinks: n.links.RefusedCount(),
		MessagesSent: sent, MessagesDropped: dropped,
	}
}

// lastContact returns the time since the last message of the leader: 0 on the leader, -1 if
// there was no message.
//
// Requires: raft runs.
func (o leadership) lastContact() time.Duration {
	at := o.stack.raft.LastContact()
	switch {
	case o.elected:
		return 0
	case at.IsZero():
		return -1
	}
	return time.Since(at)
}

// servers returns the members of raft's latest configuration.
func (s *raftStack) servers() []raft.Server { return s.raft.GetConfiguration().Configuration().Servers }

// Nodes returns the members of the cluster, this node first if it is a member. Before the
// cluster is bootstrapped it returns this node only, with local as its address for clients.
func (n *Node) Nodes(local string) (all []status.Node) {
	lead, self := n.leadership(), n.identity().Node
	if s := lead.stack; s != nil {
		tell, reports, now := s.FSM.Members(), n.peers.all(), n.mono()
		for _, server := range s.servers() {
			id := string(server.ID)
			m := status.Node{
				ID: id, Raft: string(server.Address), Version: tell[id].Version,
				Leader: id == lead.leader.Node, Voter: server.Suffrage == raft.Voter, LastContact: -1,
			}
			m.Host, m.Port = hostPort(tell[id].Client)
			p, known := reports[id]
			switch {
			case id == self:
				m.Online, m.Index, m.LastContact = true, s.raft.LastIndex(), 0
				m.ClockOffset, m.ClockKnown = n.offMedian(lead, 0)
				all = slices.Insert(all, 0, m)
				continue
			case known:
				m.Index, m.LastContact = p.LastIndex, now-p.At
				m.Online = m.LastContact < onlineFor(lead.elected)
				if p.Compared && m.Online {
					m.ClockOffset, m.ClockKnown = n.offMedian(lead, p.Clock)
				}
			case m.Leader:
				m.Online, m.Index, m.LastContact = true, s.raft.LastIndex(), lead.lastContact()
			}
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		m := status.Node{ID: self, Online: true, Raft: n.o.Raft, Version: n.o.Version}
		m.Host, m.Port = hostPort(local)
		all = append(all, m)
	}
	return all
}

// offMedian returns the difference between a clock and the median of the voters' clocks. clock is
// relative to the clock of this node. known: this node leads and has compared the clocks of a
// majority.
func (n *Node) offMedian(lead leadership, clock time.Duration) (offset time.Duration, known bool) {
	if !lead.leading || !n.counts.compared.Load() {
		return 0, false
	}
	return clock + time.Duration(n.counts.offset.Load()), true
}

// hostPort splits address. It returns no host and port 0 if address is malformed.
func hostPort(address string) (host string, port int) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0
	}
	number, _ := strconv.ParseUint(text, 10, 16)
	return host, int(number)
}

func (n *Node) statusRole(lead leadership) status.Role {
	switch {
	case lead.elected:
		return status.Leader
	case lead.stack == nil || lead.leader.Node == "":
		return status.Candidate
	case !hasVote(lead.stack.servers(), n.identity().Node):
		return status.NonVoter
	}
	return status.Follower
}

// Digest returns the index of the last applied entry, and a hash of the state after it. All nodes
// have the same digest at the same index. No entry is applied during the call. Cost: linear in the
// keys.
func (n *Node) Digest() (index uint64, digest uint64) {
	s := n.stack.Load()
	if s == nil {
		return 0, 0
	}
	return s.FSM.Digest()
}

// Leads reports whether this node decides.
func (n *Node) Leads() bool { return n.leadership().leading }

// Where reports whether this node takes commands with keys of a slot, as the leader of its group or
// because the leader is unknown; with stale, as any node of the group that owns the slot. If not, it returns
// the leader's address for clients, or "" if the leader of another group is unknown.
func (n *Node) Where(slot slots.Slot, stale bool) (address string, here bool) {
	lead := n.leadership()
	if d := n.Division(); d != nil && !d.Owned.Has(slot) {
		return n.groups.leaderOf(slot), false
	}
	if stale || lead.stack == nil || lead.elected || lead.leader.Node == "" {
		return "", true
	}
	address = lead.fsm.Member(lead.leader.Node).Client
	return address, address == ""
}

// pending returns the value of status.Replication.Pending for a node that knows a leader.
func (n *Node) pending(lead leadership) string {
	s := lead.stack
	last, leaders := s.raft.LastIndex(), s.leaderLast.Load()
	switch {
	case s.FSM.Diverged():
		return "the state of this node differs from the leader's, and the node joins the cluster again"
	case !hasVote(s.servers(), n.identity().Node):
		return "this node has no vote yet"
	case !s.FSM.IsCurrent():
		return "this node has not applied all that was decided before its start"
	case !lead.elected && last+caughtUp < leaders:
		return fmt.Sprintf("this node lacks %d entries of the log", leaders-last)
	case !s.settled.Load():
		return "it is not known yet which features all nodes support, or the leader has not loaded its rules"
	}
	return ""
}

// hasVote reports whether node is one of servers and has a vote.
func hasVote(servers []raft.Server, node string) bool {
	return slices.ContainsFunc(servers, func(server raft.Server) bool {
		return string(server.ID) == node && server.Suffrage == raft.Voter
	})
}

// isSettling reports whether the leader must still log something that requests need, for example
// its first rules or a feature level that all members support. It does not wait for a level that
// can't rise: a member of an older version, or a silent member that has not published its data,
// keeps the level. Requires: this node leads.
func (n *Node) isSettling(s *raftStack) bool {
	if n.o.Settling() {
		return true
	}
	own, now := n.memberOf(n.identity().Node), n.mono()
	return isRising(s.FSM.Level(), own, serversOf(s.raft), s.FSM.Members(), func(node string) bool {
		return node == own.Node || n.peers.silentFor(node, now) < onlineFor(true)
	})
}

// isRising reports whether the feature level of the log is about to rise above level, or the log
// lacks the leader's data own. The level rises once all online members have published their data.
func isRising(level int, own fsm.Member, servers []storage.Server, members map[string]fsm.Member,
	online func(node string) bool) bool {
	newest := own.Level
	for _, server := range servers {
		m, published := members[server.Node]
		switch {
		case server.Node == own.Node:
		case published:
			newest = min(newest, m.Level)
		case !online(server.Node):
			return false
		}
	}
	return newest > level || members[own.Node] != own
}

// A readyTest is the state of a follower just before it asks for its leader's status.
type readyTest struct {
	published     bool   // the log has this node's Member data
	votes         bool   // this node has a vote
	configuration uint64 // index of the entry that gave this node its vote
}

// testReady returns the readyTest of this node. See passes.
func (n *Node) testReady(s *raftStack) readyTest {
	own, c := n.memberOf(n.identity().Node), s.raft.GetConfiguration()
	return readyTest{s.FSM.Members()[own.Node] == own, hasVote(c.Configuration().Servers, own.Node), c.Index()}
}

// passes reports whether the leader's status p shows that this node is ready. The leader must have
// nothing left to log that requests need. All members that the leader hears from must have the
// entry that makes this node a voter, because without that entry they would not elect it.
func (r readyTest) passes(p peerStatus) bool {
	return r.published && r.votes && !p.Settling && !slices.ContainsFunc(p.Peers, func(w peerSummary) bool {
		return w.LastIndex < r.configuration && w.Seen < onlineFor(true)
	})
}
