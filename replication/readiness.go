package replication

import (
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// pending returns status.Replication.Pending of a node that knows a leader.
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

// hasVote reports whether a node is one of some members, with a vote.
func hasVote(servers []raft.Server, node string) bool {
	return slices.ContainsFunc(servers, func(server raft.Server) bool {
		return string(server.ID) == node && server.Suffrage == raft.Voter
	})
}

// isSettling reports whether the leader has still to log its first rules, say, or a level of the
// log that all members support. A member that runs an older version, or that has not published
// anything and is silent, keeps the level, so the cluster may be used as it is. Requires: this
// node leads.
func (n *Node) isSettling(s *raftStack) bool {
	if n.o.Settling() {
		return true
	}
	own, now := n.memberOf(n.identity().Node), n.mono()
	return isRising(s.FSM.Level(), own, serversOf(s.raft), s.FSM.Members(), func(node string) bool {
		return node == own.Node || n.peers.silentFor(node, now) < onlineFor(true)
	})
}

// isRising reports whether a level of the log rises, by a leader with its own data, as soon as
// members that are online have published theirs.
func isRising(level int, own fsm.Member, servers []storage.Server, members map[string]fsm.Member, online func(node string) bool) bool {
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

// A readyTest is what a node has when it asks for its leader's status.
type readyTest struct {
	published     bool   // the log has this node's Member data
	votes         bool   // this node has a vote
	configuration uint64 // the entry that gave it
}

// testReady begins the test by which a follower is settled.
func (n *Node) testReady(s *raftStack) readyTest {
	own, c := n.memberOf(n.identity().Node), s.raft.GetConfiguration()
	return readyTest{s.FSM.Members()[own.Node] == own, hasVote(c.Configuration().Servers, own.Node), c.Index()}
}

// passes reports whether the node is settled by the leader's status: nothing is to be logged
// first, and all members that the leader hears from have the entry by which this node
// votes. Without that entry they would not elect it.
func (r readyTest) passes(p peerStatus) bool {
	return r.published && r.votes && !p.Settling && !slices.ContainsFunc(p.Peers, func(w peerSummary) bool {
		return w.LastIndex < r.configuration && w.Seen < onlineFor(true)
	})
}
