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
)

// callGroup returns a groupReply. Any node answers it, also for nodes of other groups.
const callGroup = "group"

// A groupReply describes the group of the node that is asked, as this node knows it.
type groupReply struct {
	Cluster link.ClusterID `json:"cluster"`
	Leads   bool           `json:"leads"` // and clients can be sent to it
	Term    uint64         `json:"term"`
	Owned   slots.Set      `json:"owned,omitempty"`
	Nodes   []status.Node  `json:"nodes"`
	// Known are the addresses for other nodes of all nodes that the node knows, of its own group and of others.
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
	known  []string // addresses that other groups reported, also of nodes of this group
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

// groupSilence is the time after the last answer of a group's leader after which the nodes of the group count
// as offline.
const groupSilence = 3 * time.Second

// all returns the groups in the order of their slots. The caller may change the nodes. timeout bounds a round
// of questions.
func (o *otherGroups) all(now, timeout time.Duration) (all []Group) {
	silence := max(groupSilence, 2*(timeout+groupsInterval))
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range o.groups {
		g.Nodes = slices.Clone(g.Nodes)
		for i := range g.Nodes {
			g.Nodes[i].Online = g.Nodes[i].Online && now-g.heard < silence
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

// mostKnown bounds the addresses that other nodes report: a node that leaves may be reported for ever.
const mostKnown = 1000

// groupsInterval is the pause between two rounds of questions to the other groups.
const groupsInterval = 500 * time.Millisecond

// A groupView is this node's own group, as otherGroups needs it.
type groupView struct {
	cluster  link.ClusterID
	address  string        // of this node, for other nodes
	division *fsm.Division // nil: there are no other groups
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

// ask asks all known nodes of the cluster once, over kept links. The nodes of this node's own group may know
// nodes of other groups that this node does not know.
func (o *otherGroups) ask(ctx context.Context, own groupView, callers map[string]*link.Caller,
	mono func() time.Duration) {
	addresses := slices.DeleteFunc(o.addresses(own.division), func(address string) bool {
		return address == own.address
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
			if c.Call(ctx, address, callGroup, struct{}{}, &r) != nil || len(r.Owned) == 0 {
				return
			}
			other := r.Cluster != own.cluster
			if _, shares := r.Owned.Shared(own.division.Owned); other && shares {
				return // it is of another cluster
			}
			mu.Lock()
			known = append(known, r.Known...)
			mu.Unlock()
			if other && r.Leads {
				o.learn(&r, mono())
			}
		})
	}
	wait.Wait()
	if len(known) > 0 {
		slices.Sort(known)
		known = slices.Compact(known)
		o.mu.Lock()
		o.known = known[:min(len(known), mostKnown)]
		o.mu.Unlock()
	}
}
