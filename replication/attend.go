package replication

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

const (
	attendEvery = time.Second
	// caughtUp is how many entries a node may lack to be given a vote, and steadyFor how
	// long it must have been so.
	caughtUp  = 1000
	steadyFor = 2 * time.Second
	// leastVoters is how many voters must be well and stay when a dead one is removed
	// without being asked for.
	leastVoters = 3
	// stuckLooks is how often, once in attendEvery, a member may see that it has nothing
	// new of what its leader has: more than the 10 s for which raft v1.7.3 sends nothing to a
	// node that was away. Looks are counted as the time passes while a machine is halted.
	stuckLooks = 30
	// stuckRefusals is how often a leader may send a snapshot of what a member has, which
	// has nothing new meanwhile.
	stuckRefusals = 3
	// openAgain is how often it is said again that links without a secret are accepted.
	openAgain = 10 * time.Minute
	// minTrailing and maxTrailing bound how many entries stay behind a snapshot.
	minTrailing, maxTrailing = 1024, 1 << 20
)

// attend is the goroutine that looks after the node, and as a leader after the
// cluster.
func (n *Node) attend() {
	ticker := time.NewTicker(attendEvery)
	defer ticker.Stop()
	steady := make(map[string]time.Duration) // since when, by mono, a member has been caught up
	last := n.mono()
	var calm calmness
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-ticker.C:
		}
		now := n.mono()
		n.known.excuse(now - last)
		last = now
		n.attendLinks()
		s := n.seat.Load()
		if s == nil {
			continue
		}
		n.learn(s.raft)
		n.snapshotIfLong(s)
		n.dropLocal(s)
		if installed := s.machine.counts.installed.Load(); installed != s.restored {
			s.restored = installed
			n.wait.Go(s.refreshSnapshots)
		}
		office := n.office()
		if office.leading || office.leader.Raft != "" {
			n.unreached.Store(false)
		}
		if office.leading {
			n.attendCluster(s, steady, &calm)
			continue
		}
		clear(steady)
		n.attendSelf(s, &calm)
	}
}

// attendLinks has links follow the secrets, and warns while strangers are let in beside
// nodes that have one.
func (n *Node) attendLinks() {
	n.links.endStale(time.Now())
	n.forwarder.renew()
	if n.o.Secrets == nil || n.links.certificates != nil || !slices.Contains(n.o.Secrets.current(), secret{}) {
		n.openTold = time.Time{}
		return
	}
	if now := time.Now(); n.openTold.IsZero() || now.Sub(n.openTold) >= openAgain {
		n.openTold = now
		n.log.Warn("links without a cluster secret are accepted, so any node that reaches this one is let in; take the line out of the file when all nodes have a secret",
			"line", NoSecret)
	}
}

// attendCluster is what the leader does for the others.
func (n *Node) attendCluster(s *seat, steady map[string]time.Duration, calm *calmness) {
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	if calm.asks(s.raft.CurrentTerm(), s.raft.LastIndex()) {
		n.keepTime(ctx, s)
	}
	calm.found(n.allWell(s))
	n.announce(ctx, s)
	n.promote(ctx, s, steady)
	n.removeDead(ctx, s)
	n.raiseLevel(ctx, s)
}

// announce has the log know what this node tells about itself.
func (n *Node) announce(ctx context.Context, s *seat) {
	m := n.memberOf(n.identity().Node)
	if s.machine.members()[m.Node] == m {
		return
	}
	office := n.office()
	var err error
	switch {
	case office.leading:
		err = n.announced(ctx, m)
	case office.leader.Raft != "":
		err = n.links.call(ctx, office.leader.Raft, callAnnounce, m, nil)
	}
	if err != nil && n.told.first("announce") {
		n.log.Info("the leader does not take what this node tells about itself", "error", err)
	}
}

// promote gives a vote to members that have caught up, one at a time.
func (n *Node) promote(ctx context.Context, s *seat, steady map[string]time.Duration) {
	now, last, news := n.mono(), s.raft.LastIndex(), n.known.news()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		id := string(server.ID)
		p, heard := news[id]
		if server.Suffrage == raft.Voter || !heard || now-p.At > 2*attendEvery || p.LastIndex+caughtUp < last {
			delete(steady, id)
			continue
		}
		if _, ok := steady[id]; !ok {
			steady[id] = now
		}
		if now-steady[id] < steadyFor {
			continue
		}
		if err := s.raft.AddVoter(server.ID, server.Address, 0, remaining(ctx)).Error(); err != nil {
			n.log.Warn("a member that has caught up can't be given a vote", "node", id, "raft", string(server.Address), "error", err)
			return
		}
		n.log.Info("a member that has caught up has a vote from now on", "node", id, "raft", string(server.Address))
		return
	}
}

// removeDead removes a member that has been silent for too long, one at a time, if
// enough voters are well that the cluster stays safe without it.
func (n *Node) removeDead(ctx context.Context, s *seat) {
	if n.o.DeadAfter <= 0 {
		return
	}
	now, self := n.mono(), n.identity().Node
	var dead raft.Server
	var silent time.Duration
	well := 0
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		since := n.known.silence(string(server.ID), now)
		switch {
		case string(server.ID) == self || since < 3*attendEvery:
			if server.Suffrage == raft.Voter {
				well++
			}
		case since > n.o.DeadAfter && since > silent:
			dead, silent = server, since
		}
	}
	if silent == 0 || dead.Suffrage == raft.Voter && well < leastVoters {
		return
	}
	why := fmt.Sprintf("it has been silent for %v", silent.Round(time.Second))
	if err := n.remove(ctx, s, string(dead.ID), why); err != nil && n.told.first("dead") {
		n.log.Warn("a dead node can't be removed", "node", string(dead.ID), "error", err)
	}
}

// raiseLevel lets the log use what all members know.
func (n *Node) raiseLevel(ctx context.Context, s *seat) {
	level, members := n.o.level, s.machine.members()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		level = min(level, members[string(server.ID)].Level)
	}
	if level <= s.machine.level() {
		return
	}
	if err := s.proposeControl(ctx, controlEntry{Level: level}); err == nil {
		n.log.Info("all members know newer features, which the log may use from now on", "level", level)
	}
}

// attendSelf is what a follower does: it tells about itself, notices that it was
// removed, and that raft is stuck.
//
// Source of the latter: hashicorp/raft, issue 697: after a snapshot from the leader
// raft v1.7.3 may refuse every entry until it is started again.
func (n *Node) attendSelf(s *seat, calm *calmness) {
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	n.announce(ctx, s)
	leader := n.office().leader
	if leader.Raft == "" {
		calm.found(false)
		n.askAbout(s)
		return
	}
	if !calm.asks(s.raft.CurrentTerm(), s.raft.LastIndex()) {
		return
	}
	calm.found(false)
	var p peerStatus
	if err := n.links.call(ctx, leader.Raft, callStatus, struct{}{}, &p); err != nil || p.Leader != leader.Node {
		return
	}
	n.takeWord(p)
	calm.found(p.LastIndex == s.raft.LastIndex() && allHave(p.Peers, p.LastIndex))
	if _, storing := s.logs.storing.Running(); storing {
		return // the disk is what takes its time; watchDisk looks at that
	}
	if last := s.raft.LastIndex(); s.looksStuck(last, p.LastIndex) {
		n.restart(fmt.Sprintf("entry %d has been the last for %v, and the leader is at %d", last, stuckLooks*attendEvery, p.LastIndex))
	}
}

// looksStuck is called once in attendEvery with the last entries of the node and of its
// leader, and says whether nothing has come for too long: neither an entry nor any of a snapshot.
//
// It does so sooner where the leader sends again and again a snapshot of what the node
// has: raft then refuses the entries behind it, for what it takes for its last one.
func (s *seat) looksStuck(last, leaders uint64) bool {
	got, refused := received{last, s.snapshots.writes.Load()}, s.snapshots.refused.Load()
	switch {
	case got != s.lastGot:
		s.lastGot, s.looks, s.refused = got, 0, refused
		return false
	case refused-s.refused >= stuckRefusals:
		s.refused = refused
		return true
	case last >= leaders:
		s.looks = 0
		return false
	}
	s.looks++
	if s.looks < stuckLooks {
		return false
	}
	s.looks = 0
	return true
}

// takeWord takes the leader's word about the others.
func (n *Node) takeWord(leader peerStatus) {
	now, self := n.mono(), n.identity().Node
	n.known.hear(peerNews{peerStatus: leader, At: now})
	for _, w := range leader.Peers {
		if w.Node != self {
			n.known.hear(peerNews{peerStatus: peerStatus{Node: w.Node, LastIndex: w.LastIndex}, At: now - w.Seen})
		}
	}
}

// askAbout asks the others why there is no leader here: if theirs does not know this
// node, it was removed.
func (n *Node) askAbout(s *seat) {
	servers := n.askLeader(s)
	if self := n.identity().Node; len(servers) > 0 && !slices.ContainsFunc(servers, func(x server) bool { return x.Node == self }) {
		n.fatal(fmt.Errorf("this node, %s, was removed from the cluster; to be a member again it needs an empty data directory and --join", self))
	}
}

// askLeader asks all nodes that this one knows of for the leader of its cluster, and
// returns the members by its word; none: there is no leader. It notes whether a majority
// has answered.
func (n *Node) askLeader(s *seat) []server {
	self := n.self()
	asked, answered := []string{self.Raft}, []string{self.Node}
	next := n.others()
	for _, x := range serversOf(s.raft) {
		next = append(next, x.Raft)
	}
	for len(next) > 0 {
		address := next[0]
		next = next[1:]
		var h helloReply
		if slices.Contains(asked, address) || n.ask(address, callHello, struct{}{}, &h) != nil {
			continue
		}
		asked = append(asked, address)
		switch {
		case h.Cluster != n.identity().Cluster:
			continue
		case len(h.Servers) > 0:
			return h.Servers
		case h.Leader.Raft != "":
			next = append(next, h.Leader.Raft)
		}
		answered = append(answered, h.Node)
	}
	n.unreached.Store(!isMajority(s.raft, answered))
	return nil
}

// isMajority says whether nodes are a majority of those that vote.
func isMajority(r *raft.Raft, nodes []string) bool {
	voters, among := 0, 0
	for _, x := range r.GetConfiguration().Configuration().Servers {
		if x.Suffrage == raft.Voter {
			voters++
			if slices.Contains(nodes, string(x.ID)) {
				among++
			}
		}
	}
	return among > voters/2
}
