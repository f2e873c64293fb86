package replication

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"limitsrv/engine/slots"
	"limitsrv/internal/status"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// callGroup returns a groupReply. Any node answers it, also for nodes of other groups.
const callGroup = "group"

// A groupReply describes the group of the node that is asked, as its log has it.
type groupReply struct {
	Cluster link.ClusterID `json:"cluster"`
	Leads   bool           `json:"leads"` // and clients can be sent to it
	Term    uint64         `json:"term"`
	Owned   slots.Set      `json:"owned,omitempty"`
	Nodes   []status.Node  `json:"nodes"`
	// Known are addresses of nodes of the other groups.
	Known []string `json:"known"`
}

// A Group is another group of the cluster, as its leader last described it.
type Group struct {
	Slots slots.Set
	Nodes []status.Node
	Term  uint64
	heard time.Duration // by mono
}

// otherGroups are the other groups of a cluster. They are hints for clients: the log of each group decides what
// the group owns. Concurrency: any goroutine.
type otherGroups struct {
	// links lead to nodes of other groups. This node greets them as a node of no cluster, which may only
	// make calls.
	links *link.Links

	mu     sync.Mutex
	groups map[link.ClusterID]Group
	known  []string // addresses of their nodes for other nodes
}

// leaderOf returns the address for clients of the leader of the group that owns a slot; "": unknown.
func (o *otherGroups) leaderOf(slot slots.Slot) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.groups {
		if !g.Slots.Has(slot) {
			continue
		}
		for _, node := range g.Nodes {
			if node.Leader && node.Port != 0 {
				return net.JoinHostPort(node.Host, strconv.Itoa(node.Port))
			}
		}
	}
	return ""
}

// groupSilence is the time after which the nodes of a group that does not answer are not online.
const groupSilence = 3 * time.Second

// all returns the groups in the order of their slots. The caller may change the nodes.
func (o *otherGroups) all(now time.Duration) (all []Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.groups {
		g.Nodes = slices.Clone(g.Nodes)
		for i := range g.Nodes {
			g.Nodes[i].Online = g.Nodes[i].Online && now-g.heard < groupSilence
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b Group) int { return int(a.Slots[0].First) - int(b.Slots[0].First) })
	return all
}

// learn notes the description of a group by its leader.
func (o *otherGroups) learn(r *groupReply, now time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.groups[r.Cluster].Term > r.Term {
		return // of a former leader
	}
	if o.groups == nil {
		o.groups = make(map[link.ClusterID]Group)
	}
	for id, g := range o.groups { // a group that was recovered has another id
		if _, same := g.Slots.Shared(r.Owned); same {
			delete(o.groups, id)
		}
	}
	o.groups[r.Cluster] = Group{Slots: r.Owned, Nodes: r.Nodes, Term: r.Term, heard: now}
}

// addresses returns the addresses of all known nodes of other groups.
func (o *otherGroups) addresses(d *fsm.Division) (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all = append(slices.Clone(o.known), d.First...)
	for _, g := range d.Groups {
		all = append(all, g.Nodes...)
	}
	for _, g := range o.groups {
		for _, node := range g.Nodes {
			all = append(all, node.Raft)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// groupsInterval is the pause between two rounds of questions to the other groups.
const groupsInterval = 500 * time.Millisecond

// A groupView is this node's own group, as otherGroups needs it.
type groupView struct {
	cluster  link.ClusterID
	division *fsm.Division // nil: there are no other groups
	members  []storage.Server
}

// follow asks the nodes of the other groups for their leaders, until ctx ends. timeout bounds a round.
func (o *otherGroups) follow(ctx context.Context, timeout time.Duration, mono func() time.Duration,
	own func() groupView) {
	callers := make(map[string]*link.Caller)
	defer func() {
		for _, c := range callers {
			c.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(groupsInterval):
		}
		if view := own(); view.division != nil {
			round, cancel := context.WithTimeout(ctx, timeout)
			o.ask(round, view, callers, mono)
			cancel()
		}
	}
}

// ask asks all known nodes of other groups once, over kept links.
func (o *otherGroups) ask(ctx context.Context, own groupView, callers map[string]*link.Caller,
	mono func() time.Duration) {
	addresses := slices.DeleteFunc(o.addresses(own.division), func(address string) bool {
		return slices.ContainsFunc(own.members, func(m storage.Server) bool { return m.Raft == address })
	})
	for address, c := range callers {
		if !slices.Contains(addresses, address) {
			c.Close()
			delete(callers, address)
		}
	}
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		known []string
	)
	for _, address := range addresses {
		c := callers[address]
		if c == nil {
			c = o.links.NewCaller()
			callers[address] = c
		}
		wait.Go(func() {
			var r groupReply
			if c.Call(ctx, address, callGroup, struct{}{}, &r) != nil || len(r.Owned) == 0 || r.Cluster == own.cluster {
				return
			}
			mu.Lock()
			known = append(known, r.Known...)
			mu.Unlock()
			if r.Leads {
				o.learn(&r, mono())
			}
		})
	}
	wait.Wait()
	if len(known) > 0 {
		slices.Sort(known)
		o.mu.Lock()
		o.known = slices.Compact(known)
		o.mu.Unlock()
	}
}
