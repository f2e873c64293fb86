package replication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
)

// A Change changes the members of a cluster, or its leader.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Node is the id or the Raft address of the node to remove or to lead. A Transfer may
	// leave it empty: raft selects the node with the most entries.
	Node string `json:"node"`
}

// A ChangeKind is a kind of Change.
type ChangeKind string

const (
	// Forget removes a member, dead or alive.
	Forget ChangeKind = "forget"
	// Leave removes the node that is asked.
	Leave ChangeKind = "leave"
	// Transfer transfers leadership.
	Transfer ChangeKind = "transfer"
)

// changeTimeout bounds a change of the members.
const changeTimeout = 5 * time.Second

// errChangeLost is the error of a change with an unknown outcome.
var errChangeLost = link.NewError("UNCERTAIN",
	"the change of the cluster may or may not have been made: CLUSTER NODES shows it")

// Change submits a change to the leader. It calls done exactly once, from another goroutine. The
// error is nil if the change was made. It has the code UNCERTAIN if the change may have been made.
// After any other error it was not made.
func (n *Node) Change(c Change, done func(error)) {
	if c.Kind == Leave {
		c = Change{Forget, n.identity().Node}
	}
	n.wait.Go(func() {
		ctx, cancel := context.WithTimeout(n.stopping, changeTimeout)
		defer cancel()
		done(n.changeAnywhere(ctx, c))
	})
}

// changeAnywhere makes the change on the current leader and retries while the cluster has no leader. A
// leader that is to be removed transfers leadership first.
func (n *Node) changeAnywhere(ctx context.Context, c Change) error {
	for {
		err := n.changeAtLeader(ctx, c)
		if !errors.Is(err, forward.ErrNotAccepted) {
			return err
		}
		select {
		case <-n.stopping.Done():
			return errStopped
		case <-ctx.Done():
			return errors.New("the cluster has no leader")
		case <-time.After(n.o.ElectionTimeout / 4):
		}
	}
}

func (n *Node) changeAtLeader(ctx context.Context, c Change) error {
	lead := n.leadership()
	switch {
	case lead.leading && c.Kind == Forget && n.isSelf(c.Node):
		if len(serversOf(lead.stack.raft)) == 1 {
			return errors.New("the last member can't leave: stop it instead")
		}
		if err := n.transfer(ctx, lead.stack, ""); err != nil {
			return err
		}
		return forward.ErrNotAccepted
	case !lead.leading && (lead.leader.Raft == "" || lead.elected):
		return forward.ErrNotAccepted
	}
	var err error
	if lead.leading {
		err = n.change(ctx, c)
	} else {
		err = n.links.Call(ctx, lead.leader.Raft, callChange, c, nil)
	}
	switch coded := (*link.Error)(nil); {
	case errors.Is(err, link.ErrUnanswered):
		return errChangeLost
	case errors.As(err, &coded) && *coded == *errNotLeader:
		return forward.ErrNotAccepted
	}
	return err
}

func (n *Node) isSelf(node string) bool { return node == n.identity().Node || node == n.o.Raft }

// change makes a change. Requires: this node leads.
func (n *Node) change(ctx context.Context, c Change) error {
	s, err := n.leaderStack()
	if err != nil {
		return err
	}
	switch c.Kind {
	case Transfer:
		return n.transfer(ctx, s, c.Node)
	case Forget:
		return n.remove(ctx, s, c.Node, "it was requested")
	}
	return fmt.Errorf("there is no change %q of the members", c.Kind)
}

// find returns the member with an id or an address.
func find(r *raft.Raft, node string) (raft.Server, error) {
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if string(s.ID) == node || string(s.Address) == node {
			return s, nil
		}
	}
	return raft.Server{}, fmt.Errorf("unknown node %s", node)
}

// remove removes a member from the cluster.
func (n *Node) remove(ctx context.Context, s *raftStack, node, why string) error {
	server, err := find(s.raft, node)
	if err != nil {
		return err
	}
	if err := await(ctx, s.raft.RemoveServer(server.ID, 0, remaining(ctx))); err != nil {
		return fmt.Errorf("remove node %s: %w", node, changeError(err))
	}
	n.log.Warn("a node was removed from the cluster", "node", string(server.ID), "raft", string(server.Address), "reason",
		why)
	n.refreshServers(s.raft)
	n.peers.prune()
	if err := s.proposeControl(ctx, fsm.ControlEntry{Gone: string(server.ID)}); err != nil {
		return errChangeLost
	}
	return nil
}

// changeError returns the error for a change that raft did not complete: errNotLeader if the change
// was not made and can be tried again, errChangeLost if its entry may be in the log.
func changeError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return errNotLeader
	case errors.Is(err, errUnfinished) || errors.Is(err, raft.ErrLeadershipLost) || errors.Is(err, raft.ErrRaftShutdown) ||
		errors.Is(err, raft.ErrAbortedByRestore):
		return errChangeLost
	}
	return err
}

// remaining returns the time until the context's deadline; 0, raft's value for no timeout,
// if there is no deadline.
func remaining(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(deadline), time.Millisecond)
}

// admit makes a node a member, without a vote until it has caught up. Requires: this node
// leads. Another node at the same address is removed, because the new node replaced it.
func (n *Node) admit(ctx context.Context, m fsm.Member) (joinReply, error) {
	s, err := n.leaderStack()
	if err != nil {
		return joinReply{}, err
	}
	if err := s.admissible(m); err != nil {
		return joinReply{}, err
	}
	servers := s.raft.GetConfiguration().Configuration().Servers
	at := slices.IndexFunc(servers,
		func(x raft.Server) bool { return string(x.Address) == m.Raft && string(x.ID) != m.Node })
	if at >= 0 {
		if err := n.remove(ctx, s, string(servers[at].ID), "node "+m.Node+" is at its address now"); err != nil {
			return joinReply{}, err
		}
	}
	if err := s.raft.AddNonvoter(raft.ServerID(m.Node), raft.ServerAddress(m.Raft), 0,
		remaining(ctx)).Error(); err != nil {
		return joinReply{}, fmt.Errorf("add node %s: %w", m.Node, err)
	}
	n.refreshServers(s.raft)
	n.log.Info("a node joins the cluster", "node", m.Node, "raft", m.Raft)
	if err := s.proposeControl(ctx, fsm.ControlEntry{Member: &m}); err != nil {
		return joinReply{}, err
	}
	own := n.member()
	return joinReply{Cluster: own.Cluster, Seed: own.Seed, Level: s.FSM.Level(), Division: s.FSM.Division()}, nil
}

// admissible returns an error for a node that could not apply the log.
func (s *raftStack) admissible(m fsm.Member) error {
	if level := s.FSM.Level(); m.Level < level {
		return fmt.Errorf("the cluster uses features up to level %d, and limitsrv %s supports them up to %d: run a newer one",
			level, m.Version, m.Level)
	}
	return link.CheckAddress("--raft", m.Raft)
}

// transfer transfers leadership to a node, or, if node is "", to the node with the most
// entries. After a failed transfer raft v1.7.3 rejects all requests (issue 696), so raft is
// restarted then. transfer returns when ctx ends, also while raft waits for its disk.
func (n *Node) transfer(ctx context.Context, s *raftStack, node string) error {
	if !n.hasSuccessor(s, node) {
		return errors.New("there is no other voter that could lead")
	}
	future := s.raft.LeadershipTransfer
	if node != "" {
		server, err := find(s.raft, node)
		if err != nil {
			return err
		}
		if server.Suffrage != raft.Voter {
			return fmt.Errorf("node %s has no vote yet", node)
		}
		future = func() raft.Future { return s.raft.LeadershipTransferToServer(server.ID, server.Address) }
	}
	err := await(ctx, future())
	if err == nil {
		n.log.Info("leadership transferred")
		return nil
	}
	if !n.steppingDown.Load() && isLeader(s.raft) {
		n.wait.Go(func() { n.restartRaft("a leadership transfer failed") })
	}
	if changeError(err) == errNotLeader {
		return errNotLeader
	}
	return link.NewError(errChangeLost.Code(), fmt.Sprintf("the leader may or may not have changed: %v", err))
}

// errUnfinished is the error of await if ctx ends first.
var errUnfinished = errors.New("raft has not completed it")

// await returns the error of a future, or errUnfinished if ctx ends first. In the second case its
// goroutine remains until raft answers. Raft v1.7.3 never answers a transfer that was requested
// just before Shutdown, so Close does not wait for this goroutine.
func await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errUnfinished, context.Cause(ctx))
	}
}

// hasSuccessor reports whether another voter exists, and is node if that is given.
func (n *Node) hasSuccessor(s *raftStack, node string) bool {
	return slices.ContainsFunc(s.raft.GetConfiguration().Configuration().Servers, func(x raft.Server) bool {
		return x.Suffrage == raft.Voter && string(x.ID) != n.identity().Node &&
			(node == "" || string(x.ID) == node || string(x.Address) == node)
	})
}
