package replication

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

// lead is the goroutine that follows whether this node is elected.
func (n *Node) lead(s *seat) {
	for {
		select {
		case <-s.gone:
			return
		case elected := <-s.notify:
			n.led.Store(0)
			if elected {
				n.counts.elected.Add(1)
				n.takeOffice(s)
			}
			n.group.kick()
		}
	}
}

// takeOffice has this node decide, when it has carried out all that was committed
// before, and knows the time.
func (n *Node) takeOffice(s *seat) {
	term := s.raft.CurrentTerm()
	for {
		err := s.raft.Barrier(n.rpcTimeout()).Error()
		if err == nil {
			break
		}
		if !errors.Is(err, raft.ErrEnqueueTimeout) {
			n.log.Info("elected, and no leader any more", "term", term, "error", err)
			return
		}
	}
	if last := s.machine.stamp.Load(); last > 0 {
		n.clock.start(engine.Instant(last))
	} else {
		n.clock.start(n.wall()) // nothing was ever decided
	}
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	n.keepTime(ctx, s, true)
	if s.raft.CurrentTerm() != term || !isLeader(s.raft) {
		return // notify has more to say
	}
	n.led.Store(term)
	n.log.Info("this node leads the cluster", "term", term, "index", s.raft.LastIndex())
}

// keepTime asks all other members how they are, and has the leader's clock follow
// theirs. hasty: only until a majority, this node included, has answered.
func (n *Node) keepTime(ctx context.Context, s *seat, hasty bool) {
	read, began := n.wall(), n.o.Monotonic()
	// This node's clock as if nobody sets it meanwhile.
	wall := func() engine.Instant { return read + engine.Instant(n.o.Monotonic()-began) }
	clocks, voters := n.poll(ctx, s, wall, hasty)
	n.steer(wall(), clocks, voters)
}

// poll asks all other members how they are, and how far their clocks are from wall.
func (n *Node) poll(ctx context.Context, s *seat, wall func() engine.Instant, hasty bool) (clocks []time.Duration, voters int) {
	servers := s.raft.GetConfiguration().Configuration().Servers
	self := n.identity().Node
	answers := make(chan time.Duration, len(servers))
	asked := 0
	for _, server := range servers {
		voter := server.Suffrage == raft.Voter
		if voter {
			voters++
		}
		if string(server.ID) == self {
			continue
		}
		asked++
		n.wait.Go(func() {
			difference, ok := n.pollOne(ctx, wall, server)
			if !ok || !voter {
				difference = noClock
			}
			answers <- difference
		})
	}
	clocks = []time.Duration{0}
	for ; asked > 0 && !(hasty && len(clocks) > voters/2); asked-- {
		if difference := <-answers; difference != noClock {
			clocks = append(clocks, difference)
		}
	}
	return clocks, voters
}

// noClock is the answer of a node that gave none, or has no vote.
const noClock = time.Duration(-1 << 63)

// pollOne asks a member how it is, and how far its clock is from wall: half
// of the time that the call took after it was asked. A difference that is no more
// than that half is taken for none, so that clocks that agree do not move the time.
func (n *Node) pollOne(ctx context.Context, wall func() engine.Instant, server raft.Server) (difference time.Duration, ok bool) {
	began, read := n.o.Monotonic(), wall()
	var p peerStatus
	if err := n.links.call(ctx, string(server.Address), callStatus, struct{}{}, &p); err != nil || p.Node != string(server.ID) {
		return 0, false
	}
	half := (n.o.Monotonic() - began) / 2
	if difference = time.Duration(p.Wall-read) - half; difference.Abs() <= half {
		difference = 0
	}
	n.known.hear(peerNews{peerStatus: p, At: n.mono()})
	return difference, true
}

// steer moves the leader's clock to what the clocks of others say, relative to wall.
func (n *Node) steer(wall engine.Instant, clocks []time.Duration, voters int) {
	offset := clockOffset(clocks)
	n.counts.offset.Store(int64(-offset))
	clamped := n.clock.steer(wall+engine.Instant(offset), len(clocks) > voters/2)
	n.counts.clamped.Store(int64(clamped))
	if clamped == 0 {
		return
	}
	n.counts.clamps.Add(1)
	if n.told.first("clock") {
		n.log.Warn("the clocks of the nodes are not where the cluster's time is; time goes on at normal speed",
			"off", clamped, "clocks", len(clocks), "voters", voters)
	}
}
