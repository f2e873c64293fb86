package replication

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// Calls between nodes, besides raft's requests and forwarded batches. Each is one
// exchange. A node answers hello, found and join to nodes of no cluster too, so a cluster
// secret or mutual TLS must keep strangers away.
const (
	callHello    = "hello"    // who are you, and whom do you know?
	callBootstrap    = "found"    // be a founding member
	callJoin     = "join"     // make me a member; the leader does
	callStatus   = "status"   // how far are you?
	callAnnounce = "announce" // what I tell about myself; the leader logs it
	callChange   = "change"   // change the members; the leader does
)

type helloReply struct {
	server
	Cluster clusterID `json:"cluster"`
	// Member says that it has taken its seat; Peers are those that it would found a
	// cluster with.
	Member bool     `json:"member"`
	Peers  []string `json:"peers"`
	// Leader and Servers are what it knows of the cluster; Servers only of its leader.
	Leader  server   `json:"leader"`
	Servers []server `json:"servers"`
}

type bootstrapRequest struct {
	Cluster clusterID    `json:"cluster"`
	Seed    persist.Seed `json:"seed"`
	Node    string       `json:"node"` // whom it is for
}

type joinRequest struct{ Member }

// A joinReply is what a new member has to know of its cluster.
type joinReply struct {
	Cluster clusterID    `json:"cluster"`
	Seed    persist.Seed `json:"seed"`
}

// peerStatus is how a node stands, for others.
type peerStatus struct {
	Node         string         `json:"node"`
	Wall         engine.Instant `json:"wall"` // by its clock
	Term         uint64         `json:"term"`
	LastIndex    uint64         `json:"last"`
	AppliedIndex uint64         `json:"applied"`
	Leader       string         `json:"leader"` // the node that it takes for the leader
	// Stored is the last entry with decisions that it has stored since its start, 0 if none,
	// and Idle how long ago.
	Stored uint64        `json:"stored,omitempty"`
	Idle   time.Duration `json:"idle,omitempty"`
	// Silent says that it would have another leader, and LastTerm is that of its last entry.
	Silent   bool   `json:"silent,omitempty"`
	LastTerm uint64 `json:"last_term,omitempty"`
	// Peers are what the leader has heard of the others.
	Peers []peerSummary `json:"peers,omitempty"`
}

// A peerWord is what one node tells of another.
type peerSummary struct {
	Node      string        `json:"node"`
	LastIndex uint64        `json:"last"`
	Seen      time.Duration `json:"seen"` // ago
}

// errElsewhere is how a node that does not lead answers what only the leader does.
var errNotLeader = &codedError{"CLUSTERDOWN", "this node does not lead the cluster"}

// answerCall is how this node answers others.
func (n *Node) answerCall(ctx context.Context, from greeting, name string, body json.RawMessage) (any, error) {
	switch name {
	case callHello:
		return n.hello(), nil
	case callBootstrap:
		return answer(body, func(r bootstrapRequest) (any, error) { return struct{}{}, n.acceptBootstrap(r) })
	case callJoin:
		return answer(body, func(r joinRequest) (any, error) {
			if r.Member.Raft != from.raft {
				return nil, fmt.Errorf("the node at %s asks for a seat for the one at %s", from.raft, r.Member.Raft)
			}
			return n.admit(ctx, r.Member)
		})
	case callStatus:
		return n.peerStatus(), nil
	case callAnnounce:
		return answer(body, func(m Member) (any, error) {
			if m.Node != from.Node {
				return nil, fmt.Errorf("node %s tells about node %s", from.Node, m.Node)
			}
			return struct{}{}, n.logMember(ctx, m)
		})
	case callChange:
		return answer(body, func(c Change) (any, error) { return struct{}{}, n.change(ctx, c) })
	}
	return nil, fmt.Errorf("node %s asks for %q, which this limitsrv does not know", from.Node, name)
}

// answer reads a request and has it answered.
func answer[R any](body json.RawMessage, by func(R) (any, error)) (any, error) {
	var r R
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	return by(r)
}

func (n *Node) self() server { return server{Node: n.identity().Node, Raft: n.o.Raft} }

func (n *Node) hello() helloReply {
	lead := n.leadership()
	r := helloReply{
		server: n.self(), Cluster: n.identity().Cluster, Member: lead.stack != nil,
		Peers: slices.Sorted(slices.Values(n.o.Peers)), Leader: lead.leader,
	}
	if lead.leading {
		r.Servers = serversOf(lead.stack.raft)
	}
	return r
}

// serversOf are the members by raft's latest configuration.
func serversOf(r *raft.Raft) (all []server) {
	for _, s := range r.GetConfiguration().Configuration().Servers {
		all = append(all, server{Node: string(s.ID), Raft: string(s.Address)})
	}
	return all
}

func (n *Node) peerStatus() peerStatus {
	lead := n.leadership()
	p := peerStatus{Node: n.identity().Node, Wall: n.wall(), Leader: lead.leader.Node}
	if s := lead.stack; s != nil {
		p.Term, p.LastIndex, p.AppliedIndex = lead.term, s.raft.LastIndex(), s.raft.AppliedIndex()
		p.Silent, p.LastTerm = n.wantsNewLeader(s), s.lastTerm()
		var at time.Duration
		if p.Stored, at = s.entries.lastStored(); p.Stored > 0 {
			p.Idle = n.mono() - at
		}
	}
	if lead.leading {
		now := n.mono()
		for _, news := range n.peers.all() {
			p.Peers = append(p.Peers, peerSummary{news.Node, news.LastIndex, now - news.At})
		}
	}
	return p
}

// leaderSeat is this node's seat if it leads.
func (n *Node) leaderStack() (*raftStack, error) {
	lead := n.leadership()
	if !lead.leading {
		return nil, errNotLeader
	}
	return lead.stack, nil
}

// announced logs what a member tells about itself, its address among it.
func (n *Node) logMember(ctx context.Context, m Member) error {
	s, err := n.leaderStack()
	if err != nil {
		return err
	}
	if !slices.Contains(serversOf(s.raft), server{Node: m.Node, Raft: m.Raft}) {
		return fmt.Errorf("node %s at %s is no member of the cluster", m.Node, m.Raft)
	}
	return s.proposeControl(ctx, controlEntry{Member: &m})
}

func encodeControl(c controlEntry) ([]byte, error) {
	text, err := json.Marshal(c)
	return append([]byte{controlMark}, text...), err
}
