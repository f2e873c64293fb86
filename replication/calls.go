package replication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
	"limitsrv/replication/fronts"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// Calls between nodes, besides raft's requests and forwarded batches. Each is a single
// exchange. A node answers hello, found and join also to nodes that are in no cluster, so a
// cluster secret or mutual TLS must keep unauthenticated nodes away.
const (
	callHello     = "hello"    // returns the callee's identity and its view of the cluster
	callBootstrap = "found"    // become a founding member
	callJoin      = "join"     // make the caller a member; leader only
	callStatus    = "status"   // returns a peerStatus
	callAnnounce  = "announce" // publish the caller's Member data; leader only
	callChange    = "change"   // change the members; leader only
	callFresh     = "fresh"    // returns a freshReply; leader only
)

type helloReply struct {
	storage.Server
	Cluster link.ClusterID `json:"cluster"`
	// Member: the node's raft is running. Peers are its own --peers.
	Member bool     `json:"member"`
	Peers  []string `json:"peers"`
	// Slots are its own --slots. Further: it has --group-of.
	Slots   string `json:"slots,omitempty"`
	Further bool   `json:"further,omitempty"`
	// Leader and Servers are its view of the cluster; only the leader sends Servers.
	Leader  storage.Server   `json:"leader"`
	Servers []storage.Server `json:"servers"`
}

type bootstrapRequest struct {
	Cluster link.ClusterID `json:"cluster"`
	Seed    persist.Seed   `json:"seed"`
	Node    string         `json:"node"` // the id of the callee
	// Division of the cluster; nil: it owns all slots.
	Division *fsm.Division `json:"division,omitempty"`
}

type joinRequest struct {
	fsm.Member
	// Diverged is storage.Membership.Diverged of the caller.
	Diverged uint64 `json:"diverged,omitempty"`
}

// A joinReply is the data that a new member needs of its cluster.
type joinReply struct {
	Cluster link.ClusterID `json:"cluster"`
	Seed    persist.Seed   `json:"seed"`
	// Level is the feature level of the log; 0: the leader's version does not report it.
	Level int `json:"level,omitempty"`
	// Division of the group; nil: it owns all slots.
	Division *fsm.Division `json:"division,omitempty"`
}

// errNotLeader is the answer to leader-only calls on any other node.
var errNotLeader = link.NewError("CLUSTERDOWN", "this node does not lead the cluster")

// answerCall answers a call of another node.
func (n *Node) answerCall(ctx context.Context, from link.Peer, name string, body json.RawMessage) (any, error) {
	switch name {
	case callHello:
		return n.hello(), nil
	case callBootstrap:
		return answer(body, func(r bootstrapRequest) (any, error) { return struct{}{}, n.acceptBootstrap(r) })
	case callJoin:
		return answer(body, func(r joinRequest) (any, error) {
			if r.Member.Raft != from.Address {
				return nil, fmt.Errorf("the node at %s asks to join as the node at %s", from.Address, r.Member.Raft)
			}
			if r.Diverged > 0 {
				if err := n.saveBeyond(r.Diverged); err != nil {
					return nil, err
				}
			}
			return n.admit(ctx, r.Member)
		})
	case callGroup:
		return n.group(), nil
	case callGive:
		return answer(body, func(g fsm.OtherGroup) (any, error) { return struct{}{}, n.giveSlots(ctx, g) })
	case callStatus:
		return n.peerStatus(), nil
	case callAnnounce:
		return answer(body, func(m fsm.Member) (any, error) {
			if m.Node != from.Node {
				return nil, fmt.Errorf("node %s sent the member data of node %s", from.Node, m.Node)
			}
			return struct{}{}, n.logMember(ctx, m)
		})
	case callFresh:
		return n.answerFreshCall(ctx, from.Node)
	case callChange:
		return answer(body, func(c Change) (any, error) { return struct{}{}, n.change(ctx, c) })
	}
	return n.answerFront(ctx, from, name, body)
}

// answer decodes a request and calls by with it.
func answer[R any](body json.RawMessage, by func(R) (any, error)) (any, error) {
	var r R
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	return by(r)
}

func (n *Node) self() storage.Server { return storage.Server{Node: n.identity().Node, Raft: n.o.Raft} }

func (n *Node) hello() helloReply {
	lead := n.leadership()
	r := helloReply{
		Server: n.self(), Cluster: n.identity().Cluster, Member: lead.stack != nil,
		Peers: slices.Sorted(slices.Values(n.o.Peers)), Slots: n.o.Slots.String(),
		Further: len(n.o.GroupOf) > 0, Leader: lead.leader,
	}
	if lead.leading {
		r.Servers = serversOf(lead.stack.raft)
	}
	return r
}

// serversOf returns the members in raft's latest configuration.
func serversOf(r *raft.Raft) (all []storage.Server) {
	for _, s := range r.GetConfiguration().Configuration().Servers {
		all = append(all, storage.Server{Node: string(s.ID), Raft: string(s.Address)})
	}
	return all
}

func (n *Node) peerStatus() peerStatus {
	lead := n.leadership()
	p := peerStatus{Node: n.identity().Node, Wall: n.wall(), Leader: lead.leader.Node}
	if s := lead.stack; s != nil {
		// isSettling must read the level before p.Level does.
		p.Settling = lead.elected && (!lead.leading || n.isSettling(s))
		p.Term, p.LastIndex, p.AppliedIndex = lead.term, s.raft.LastIndex(), s.raft.AppliedIndex()
		p.Level, p.Skips = s.FSM.Level(), s.FSM.Skips()
		p.Silent, p.LastTerm = n.elections.Wanted(), s.TermOf(s.raft.LastIndex())
		var at time.Duration
		if p.Stored, at = s.Entries.LastStored(); p.Stored > 0 {
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

// leaderStack returns this node's raft stack, or errNotLeader if it does not lead.
func (n *Node) leaderStack() (*raftStack, error) {
	lead := n.leadership()
	if !lead.leading {
		return nil, errNotLeader
	}
	return lead.stack, nil
}

// logMember logs a member's published data. Requires: its id and address are in the
// configuration.
func (n *Node) logMember(ctx context.Context, m fsm.Member) error {
	s, err := n.leaderStack()
	if err != nil {
		return err
	}
	if !slices.Contains(serversOf(s.raft), storage.Server{Node: m.Node, Raft: m.Raft}) {
		return fmt.Errorf("node %s at %s is not a member of the cluster", m.Node, m.Raft)
	}
	return s.proposeControl(ctx, fsm.ControlEntry{Member: &m})
}

// FrontLevel is the least feature level of a group with fronts.
const FrontLevel = 4

// watchShare is the part of an election timeout after which the leader answers a front that watches
// it, so that the front misses a silent leader soon.
const watchShare = 4

func newFronts(n *Node) *fronts.Hub {
	return fronts.New(fronts.Options{Engine: n.Engine, Notices: n.o.Notices, Hold: n.o.ElectionTimeout / watchShare})
}

// HandleAsked sets the function that answers command lines for fronts. It may block until ctx ends.
func (n *Node) HandleAsked(answer func(ctx context.Context, q fronts.Asked) ([][]byte, error)) {
	n.asked.Store(&answer)
}

// answerFront answers a call of a front.
func (n *Node) answerFront(ctx context.Context, from link.Peer, name string, body json.RawMessage) (any, error) {
	switch name {
	case fronts.CallFind:
		if n.Division() != nil {
			return nil, errors.New("a front serves a cluster of one group, and this one has several")
		}
		return n.found(), nil
	case fronts.CallWatch:
		return answer(body, func(q fronts.WatchRequest) (any, error) { return n.watched(ctx, from.Node, q) })
	case fronts.CallTexts:
		return answer(body, func(q fronts.TextsRequest) (any, error) {
			return ifLeading(n, func() (fronts.Texts, error) { return n.fronts.Texts(q) })
		})
	case fronts.CallRead:
		return answer(body, func(q fronts.ReadRequest) (any, error) {
			return ifLeading(n, func() (fronts.Read, error) {
				if _, err := n.answeredIndex(ctx, n.leadership()); err != nil {
					return fronts.Read{}, err
				}
				return n.fronts.Read(from.Node, q, n.clock.now())
			})
		})
	case fronts.CallAsk:
		return answer(body, func(q fronts.Asked) (any, error) {
			by := n.asked.Load()
			if by == nil {
				return nil, errNoMember
			}
			replies, err := (*by)(ctx, q)
			return fronts.Answered{Replies: replies}, err
		})
	}
	return nil, fmt.Errorf("node %s calls %q, which this version of limitsrv does not support", from.Node, name)
}

// ifLeading returns the result of read if this node leads before and after it.
func ifLeading[R any](n *Node, read func() (R, error)) (r R, err error) {
	before := n.leadership()
	if !before.leading {
		return r, errNotLeader
	}
	if r, err = read(); err == nil && !before.stillLeads() {
		err = errNotLeader
	}
	return r, err
}

// found describes this node for a front.
func (n *Node) found() fronts.Found {
	lead := n.leadership()
	f := fronts.Found{Self: n.self(), Cluster: n.identity().Cluster, Leads: lead.leading, Term: lead.term}
	if s := lead.stack; s != nil {
		f.Level, f.Servers = s.FSM.Level(), serversOf(s.raft)
	}
	return f
}

// watched waits for news for a front. Requires: this node leads.
func (n *Node) watched(ctx context.Context, front string, q fronts.WatchRequest) (fronts.Watched, error) {
	return ifLeading(n, func() (fronts.Watched, error) {
		began := n.o.Monotonic()
		w, err := n.fronts.Watch(ctx, front, q)
		lead := n.leadership()
		if err != nil || !lead.leading {
			return w, err
		}
		w.Waited = n.o.Monotonic() - began
		w.Now, w.Level, w.Term, w.Nodes = n.clock.now(), lead.fsm.Level(), lead.term, n.Nodes("")
		if n.isSettling(lead.stack) {
			w.Pending = "the leader has not logged its rules or the features of all nodes yet"
		}
		return w, nil
	})
}
