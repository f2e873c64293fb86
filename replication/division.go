package replication

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"limitsrv/engine"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// A cluster of several groups. Each group logs the slots that it owns before its first decision. The first
// group gives each slot once, so that no slot has two owners. Slots do not move.

// callGive asks the first group for the slots of a group that is being founded. Any node of the first
// group accepts the call, and a follower forwards it to the leader.
const callGive = "give_slots"

// mostFounders bounds the nodes that found a group. Their addresses stay in the log of the first group.
const mostFounders = 100

// codeNoSlots is the error code of callGive if the first group can't give these slots. Asking again for the
// same slots fails too.
const codeNoSlots = "NOSLOTS"

// division returns the division that the options ask for; nil: the group owns all slots.
func (o *Options) division() *fsm.Division {
	if o.Slots == nil {
		return nil
	}
	return &fsm.Division{Owned: o.Slots, First: o.GroupOf}
}

// Division returns the division of this node's group, which the caller must not change. It is nil if the
// group owns all slots, or if this node is not a member yet.
func (n *Node) Division() *fsm.Division {
	if s := n.stack.Load(); s != nil {
		return s.FSM.Division()
	}
	return n.member().Division
}

// takeSlots asks the first group for the slots of this node's group, which is being founded. It is idempotent.
// If the answer is codeNoSlots, it resets the membership, so that a start with other --slots can begin again.
func (n *Node) takeSlots(m *storage.Membership) error {
	if m.Division == nil || len(m.Division.First) == 0 {
		return nil
	}
	g := fsm.OtherGroup{Cluster: m.Cluster, Owned: m.Division.Owned}
	for _, f := range m.Founding {
		g.Nodes = append(g.Nodes, f.Raft)
	}
	first, failed := m.Division.First, error(nil)
	if len(n.o.GroupOf) > 0 { // they may be corrected
		first = n.o.GroupOf
	}
	for _, address := range first {
		ctx, cancel := context.WithTimeout(n.stopping, changeTimeout)
		err := n.groups.links.Call(ctx, address, callGive, g, nil)
		cancel()
		if err == nil {
			return nil
		}
		if coded := (*link.Error)(nil); errors.As(err, &coded) && coded.Code() == codeNoSlots {
			// The options may be corrected, and then the group begins anew.
			return errors.Join(err, n.setMember(func(m *storage.Membership) {
				m.Cluster, m.Founding, m.Division = link.ClusterID{}, nil, nil
			}))
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", address, err))
	}
	return fmt.Errorf("the first group has not given the slots %v: %w", g.Owned, failed)
}

// giveSlots answers callGive. The leader logs that g owns its slots.
func (n *Node) giveSlots(ctx context.Context, g fsm.OtherGroup) error {
	lead := n.leadership()
	switch {
	case lead.leading:
	case lead.leader.Raft == "" || lead.elected:
		return errNotLeader
	default:
		return n.links.Call(ctx, lead.leader.Raft, callGive, g, nil)
	}
	if n := len(g.Nodes); len(g.Owned) == 0 || n == 0 || n > mostFounders || g.Cluster.IsZero() {
		return fmt.Errorf("a group needs slots, an id and 1 to %d nodes", mostFounders)
	}
	for _, address := range g.Nodes {
		if err := link.CheckAddress("the address of a node", address); err != nil {
			return err
		}
	}
	if err := lead.fsm.Division().CheckGive(g); err != nil {
		return link.NewError(codeNoSlots, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := lead.stack.proposeControl(ctx, fsm.ControlEntry{Group: &g}); err != nil {
		return err
	}
	if !lead.fsm.Division().Gave(g) {
		return fmt.Errorf("another group has got some of the slots %v meanwhile", g.Owned)
	}
	n.log.Info("another group was founded", "cluster", g.Cluster.String(), "slots", g.Owned.String(), "nodes",
		strings.Join(g.Nodes, ","))
	return nil
}

// logDivision logs the division of a new group, before its first decision. It returns false if this node
// no longer leads, or is stopping.
func (n *Node) logDivision(s *raftStack) bool {
	d := n.member().Division
	for d != nil && s.FSM.LoggedDivision() == nil {
		ctx, cancel := context.WithTimeout(n.stopping, n.rpcTimeout())
		err := s.proposeControl(ctx, fsm.ControlEntry{Division: d})
		cancel()
		if err == nil {
			n.log.Info("this group owns a part of the slots", "slots", d.Owned.String())
		} else if !isLeader(s.raft) || n.stopping.Err() != nil {
			return false
		}
	}
	return true
}

// requireWhole ends the process of a node of a divided cluster if its options need a group that owns all slots.
func (n *Node) requireWhole(s *raftStack) {
	if d := s.FSM.Division(); d != nil && n.o.Whole {
		n.fatal(fmt.Errorf("the group of this node owns the slots %v only: start it with --cluster-mode on, so that clients "+
			"are sent to other groups, and without --rules, --rls, --rls-http and --events-list", d.Owned))
	}
}

// foreign returns an error if a batch has a key of a slot that this group does not own.
func (n *Node) foreign(b *engine.Batch) error {
	s := n.stack.Load()
	if s == nil {
		return nil
	}
	slot, any := s.FSM.Engine().Foreign(b)
	if !any {
		return nil
	}
	advice := "this node does not know the owner, see CLUSTER SHARDS"
	if address := n.groups.leaderOf(slot); address != "" {
		advice = "send the command to the leader of the owner, " + address
	}
	return link.NewError("ELSEWHERE", fmt.Sprintf("slot %d is not of this group, which owns %v: %s", slot,
		s.FSM.Division().Owned, advice))
}

// openOutward opens the links to other groups, and begins to follow them.
func (n *Node) openOutward() (err error) {
	n.groups.links, err = link.New(link.Options{
		Dial: n.o.Network.Dial, Address: n.o.Raft, TLS: n.o.TLS, Secrets: n.o.Secrets, Log: n.log, Timeout: n.callTimeout(),
		Identity: func() link.Identity { return link.Identity{Node: n.identity().Node} },
	})
	if err == nil {
		n.wait.Go(n.followGroups)
	}
	return err
}

// Others returns the other groups of the cluster. A group is known once its leader has answered this node. Cost: a
// copy of their nodes.
func (n *Node) Others() []Group { return n.groups.all(n.mono(), n.callTimeout()) }

// Term returns the term of this node's group, as far as this node knows; 0: it is not a member yet.
func (n *Node) Term() uint64 { return n.leadership().term }

// group answers callGroup.
func (n *Node) group() groupReply {
	lead := n.leadership()
	r := groupReply{Cluster: n.identity().Cluster, Term: lead.term}
	d := n.Division()
	if d == nil || lead.stack == nil {
		return r
	}
	r.Owned, r.Known = d.Owned, n.groups.addresses(d)
	if r.Nodes = n.Nodes(""); lead.leading && len(r.Nodes) > 0 {
		r.Leads = r.Nodes[0].Port != 0 // else clients can't be sent to it yet
	}
	for _, server := range lead.stack.servers() {
		r.Known = append(r.Known, string(server.Address))
	}
	return r
}

// followGroups is the goroutine that follows the other groups.
func (n *Node) followGroups() {
	n.groups.follow(n.stopping, n.callTimeout(), n.mono, func() (own groupView) {
		if s := n.stack.Load(); s != nil {
			own = groupView{n.identity().Cluster, n.o.Raft, s.FSM.Division()}
		}
		return own
	})
}
