package replication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// joinRetryInterval is the interval between the questions of a node that is not a member.
const joinRetryInterval = 300 * time.Millisecond

// joinOrBootstrap is the goroutine of a node that is not a member yet: it bootstraps a
// cluster with its peers, or joins their cluster or the cluster of Options.Join. A node
// that may have lost the end of its log joins under a new id.
func (n *Node) joinOrBootstrap() {
	for !n.isMember() {
		why := n.tryJoinOrBootstrap()
		if failed := (*memberStartError)(nil); errors.As(why, &failed) && n.stopping.Err() == nil {
			n.fatal(why)
			return
		}
		if why != nil && n.logOnce.Allow(why.Error()) {
			n.log.Info("not a member of a cluster yet", "reason", why)
		}
		select {
		case <-n.stopping.Done():
			return
		case <-time.After(joinRetryInterval):
		}
	}
}

// tryJoinOrBootstrap makes an attempt. It returns the reason that this node is still not a
// member.
func (n *Node) tryJoinOrBootstrap() error {
	n.raftMu.Lock()
	defer n.raftMu.Unlock()
	if n.isMember() || n.stopping.Err() != nil {
		return nil
	}
	m := n.member()
	if len(m.Founding) > 0 {
		return n.completeBootstrap(&m)
	}
	others := n.configuredPeers()
	if len(others) == 0 && len(n.o.Peers) == 1 && m.Cluster.IsZero() {
		return n.bootstrap(nil)
	}
	var hellos []helloReply
	var failed error
	for _, address := range others {
		var h helloReply
		if err := n.ask(address, callHello, struct{}{}, &h); err != nil {
			failed = fmt.Errorf("%s does not answer: %w", address, err)
			continue
		}
		hellos = append(hellos, h)
		if h.Member && (m.Cluster.IsZero() || h.Cluster == m.Cluster) {
			return n.join(h)
		}
	}
	switch {
	case !m.Cluster.IsZero():
		return errors.Join(errors.New("this node's log may lack its last entries, and no other node has a leader: start "+
			"the others, or see limitsrv recover --help"), failed)
	case len(n.o.Peers) == 0:
		return errors.Join(errors.New("no node of --join is in a cluster"), failed)
	case failed != nil:
		return failed
	case slices.Min(n.o.Peers) != n.o.Raft:
		return fmt.Errorf("waiting for %s, the first of --peers, to bootstrap the cluster", slices.Min(n.o.Peers))
	}
	return n.bootstrap(hellos)
}

// configuredPeers returns the addresses in the options, except this node's own.
func (n *Node) configuredPeers() (all []string) {
	for _, address := range slices.Concat(n.o.Join, n.o.Peers) {
		if address != n.o.Raft && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all
}

// ask makes a call bounded by callTimeout.
func (n *Node) ask(address, name string, request, reply any) error {
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	return n.links.Call(ctx, address, name, request, reply)
}

// bootstrap starts the bootstrap of a cluster with the nodes that have answered. No node
// may be in a cluster already.
func (n *Node) bootstrap(hellos []helloReply) error {
	peers := slices.Sorted(slices.Values(n.o.Peers))
	founding := []storage.Server{n.self()}
	for _, h := range hellos {
		switch {
		case !h.Cluster.IsZero():
			return fmt.Errorf("node %s at %s is already in cluster %v, and none of its nodes has a leader", h.Node, h.Raft,
				h.Cluster)
		case !slices.Equal(h.Peers, peers):
			return fmt.Errorf("%s was started with --peers %v, and this node with %v: they must be the same", h.Raft, h.Peers,
				peers)
		case h.Slots != n.o.Slots.String():
			return fmt.Errorf("%s was started with --slots %q, and this node with %q: they must be the same", h.Raft, h.Slots,
				n.o.Slots)
		case h.Further != (len(n.o.GroupOf) > 0):
			return fmt.Errorf("of %s and this node only one was started with --group-of: both or none must be", h.Raft)
		}
		founding = append(founding, h.Server)
	}
	cluster, seed := storage.NewClusterID(), n.dir.Seed
	err := n.setMember(func(m *storage.Membership) {
		m.Cluster, m.Seed, m.Founding, m.Division = cluster, seed, founding, n.o.division()
	})
	if err != nil {
		return err
	}
	m := n.member()
	return n.completeBootstrap(&m)
}

// completeBootstrap tells all founding nodes to bootstrap, and starts raft. After a crash
// in between, the node continues here at its next start.
func (n *Node) completeBootstrap(m *storage.Membership) error {
	if err := n.takeSlots(m); err != nil {
		return err
	}
	for _, f := range m.Founding {
		if f.Node == m.Node {
			continue
		}
		if err := n.ask(f.Raft, callBootstrap, bootstrapRequest{m.Cluster, m.Seed, f.Node, m.Division}, nil); err != nil {
			return fmt.Errorf("bootstrap the cluster with %s: %w", f.Raft, err)
		}
	}
	if err := n.startRaft(); err != nil {
		return err
	}
	n.log.Info("bootstrapped a cluster", "cluster", m.Cluster.String(), "nodes", len(m.Founding))
	return n.setMember(func(m *storage.Membership) { m.Founding = nil })
}

// acceptBootstrap makes this node a member of the cluster that another node bootstraps.
func (n *Node) acceptBootstrap(r bootstrapRequest) error {
	n.raftMu.Lock()
	defer n.raftMu.Unlock()
	m := n.member()
	switch {
	case n.stopping.Err() != nil:
		return errStopped
	case r.Node != m.Node:
		return fmt.Errorf("this is node %s, not %s", m.Node, r.Node)
	case m.Cluster == r.Cluster:
		return nil
	case !m.Cluster.IsZero():
		return fmt.Errorf("this node is in cluster %v", m.Cluster)
	case n.o.Slots != nil && (r.Division == nil || !slices.Equal(r.Division.Owned, n.o.Slots)):
		return fmt.Errorf("this node was started with --slots %v, which the group to be founded does not own", n.o.Slots)
	}
	err := n.setMember(func(m *storage.Membership) {
		m.Cluster, m.Seed, m.Division = r.Cluster, r.Seed, r.Division
	})
	if err != nil {
		return err
	}
	if err := n.startRaft(); err != nil {
		return err
	}
	// raftMu is held, so the stack is still the stack that startRaft made.
	n.stack.Load().FSM.SetFounded()
	return nil
}

// join asks the leader of the cluster in h to make this node a member. The data that the
// node kept under an earlier id is deleted once it is a member.
func (n *Node) join(h helloReply) error {
	leader := h.Leader.Raft
	if leader == "" {
		return fmt.Errorf("cluster %v, of %s, has no leader", h.Cluster, h.Raft)
	}
	node := n.identity().Node
	if !n.identity().Cluster.IsZero() {
		node = storage.NewNodeID()
	}
	var reply joinReply
	ctx, cancel := context.WithTimeout(n.stopping, changeTimeout)
	defer cancel()
	if err := n.links.Call(ctx, leader, callJoin, joinRequest{n.memberOf(node), n.member().Diverged}, &reply); err != nil {
		return fmt.Errorf("join cluster %v at %s: %w", h.Cluster, leader, err)
	}
	if err := n.stopRaft(); err != nil { // which runs if the state has diverged
		return &memberStartError{err}
	}
	if err := n.becomeMember(node, &reply); err != nil {
		return &memberStartError{err}
	}
	return nil
}

// becomeMember starts raft as a member that the leader has admitted.
func (n *Node) becomeMember(node string, reply *joinReply) error {
	err := n.setMember(func(m *storage.Membership) {
		*m = storage.Membership{Node: node, Cluster: reply.Cluster, Seed: reply.Seed, Level: reply.Level, Clean: true,
			Division: reply.Division}
	})
	if err != nil {
		return err
	}
	return n.startRaft()
}

// A memberStartError says that a node the cluster admitted can not start because of its
// own disk. It is fatal: a retry would make the cluster admit and remove the node again
// and again.
type memberStartError struct{ error }

func (e *memberStartError) Unwrap() error { return e.error }

// memberOf returns this node's Member data under the given id.
func (n *Node) memberOf(node string) fsm.Member {
	return fsm.Member{Node: node, Raft: n.o.Raft, Client: n.o.Client, Version: n.o.Version, Level: n.o.level}
}
