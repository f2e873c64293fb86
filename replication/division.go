package replication

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// A cluster of several groups. Each group owns slots from its founding on, as the first entry of its
// log. The first group gives each slot once, so that no slot has two owners. Slots do not move.

// callGive asks the first group for the slots of a group that is being founded. Any node takes it.
const callGive = "give_slots"

// mostFounders bounds the nodes that found a group, whose addresses stay in the log of the first group.
const mostFounders = 100

// codeNoSlots is the code of an answer to callGive that has given nothing, and never will.
const codeNoSlots = "NOSLOTS"

// division returns the division that the options ask for; nil: the group owns all slots.
func (o *Options) division() *fsm.Division {
	if o.Slots == nil {
		return nil
	}
	return &fsm.Division{Owned: o.Slots, First: o.GroupOf}
}

// Division returns the division of this node's cluster, which the caller must not change. It is nil if the
// group owns all slots, or if this node does not know its division yet.
func (n *Node) Division() *fsm.Division {
	if s := n.stack.Load(); s != nil {
		return s.FSM.Division()
	}
	return nil
}

// takeSlots asks the first group for the slots of this node's group, which is being founded. It may be
// repeated.
func (n *Node) takeSlots(m *storage.Membership) error {
	if m.Division == nil || len(m.Division.First) == 0 {
		return nil
	}
	g := fsm.OtherGroup{Cluster: m.Cluster, Owned: m.Division.Owned}
	for _, f := range m.Founding {
		g.Nodes = append(g.Nodes, f.Raft)
	}
	var failed error
	for _, address := range m.Division.First {
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

// giveSlots answers callGive: the leader logs it.
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
	if err := lead.fsm.Division().Give(g); err != nil {
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
// leads no more.
func (n *Node) logDivision(s *raftStack) bool {
	d := n.member().Division
	for d != nil && s.FSM.Division() == nil {
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

// keepDivision ends the process of a node of a divided cluster that does not redirect clients.
func (n *Node) keepDivision(s *raftStack) {
	if d := s.FSM.Division(); d != nil && !n.o.Redirects {
		n.fatal(fmt.Errorf("the group of this node owns the slots %v only, so clients must be sent to other groups: start "+
			"with --cluster-mode on", d.Owned))
	}
}

// foreign returns an error if a batch has a key of a slot that another group owns.
func (n *Node) foreign(b *engine.Batch) error {
	s := n.stack.Load()
	if s == nil {
		return nil
	}
	slot, any := s.FSM.Engine().Foreign(b)
	if !any {
		return nil
	}
	return link.NewError("ELSEWHERE", fmt.Sprintf("slot %d belongs to %s, and this group owns %v: send the command there",
		slot, n.ownerOf(slot), s.FSM.Division().Owned))
}

// ownerOf describes the owner of a slot of another group.
func (n *Node) ownerOf(slot slots.Slot) string {
	if address := n.groups.leaderOf(slot); address != "" {
		return "the group with the leader " + address
	}
	return "another group, which this node can't reach, or to none"
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

// Others returns the other groups of the cluster that have answered this node. Cost: a copy of their
// nodes.
func (n *Node) Others() []Group { return n.groups.all(n.mono()) }

// Term returns the term of this node's group, as far as this node knows; 0: it is not a member yet.
func (n *Node) Term() uint64 { return n.leadership().term }

// group answers callGroup.
func (n *Node) group() groupReply {
	lead := n.leadership()
	r := groupReply{Cluster: n.identity().Cluster, Term: lead.term}
	d := n.Division()
	if d == nil {
		return r
	}
	r.Owned, r.Known = d.Owned, n.groups.addresses(d)
	if lead.leading {
		r.Nodes = n.Nodes("")
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
			own = groupView{n.identity().Cluster, s.FSM.Division(), serversOf(s.raft)}
		}
		return own
	})
}
