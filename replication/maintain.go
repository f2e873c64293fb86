package replication

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

const (
	// A node gets a vote once it has lacked at most caughtUp entries for caughtUpFor.
	caughtUp    = 1000
	caughtUpFor = 2 * time.Second
	// leastVoters is the number of healthy voters that must remain when a dead voter is
	// removed automatically.
	leastVoters = 3
	// A member is stuck after stuckChecks checks, one per maintainInterval, without
	// progress towards the leader's log. That is longer than raft v1.7.3's pause of 10 s
	// for a node that was unreachable. Checks are counted, because time passes while a
	// machine is halted.
	stuckChecks = 30
	// A member without other progress is stuck after stuckRefusals snapshots with nothing
	// new.
	stuckRefusals = 3
	// openWarnInterval is the interval of the warning that links without a secret are
	// accepted.
	openWarnInterval = 10 * time.Minute
)

// maintain is the goroutine for periodic work: of each node for itself, and of the leader
// for the cluster.
func (n *Node) maintain() {
	ticker := time.NewTicker(maintainInterval)
	defer ticker.Stop()
	caughtUpSince := make(map[string]time.Duration) // by node id: since when, by mono, a member has been caught up
	last := n.mono()
	var backoff pollBackoff
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-ticker.C:
		}
		now := n.mono()
		n.peers.excusePause(now - last)
		last = now
		n.maintainLinks()
		s := n.stack.Load()
		if s == nil {
			continue
		}
		n.refreshServers(s.raft)
		n.keepLevel(s)
		n.requireWhole(s)
		n.checkRoom(s)
		n.snapshotIfLong(s)
		n.local.expire(s.FSM.Now())
		if installed := s.FSM.Counts().Installed; installed != s.restored {
			s.restored = installed
			n.wait.Go(s.RefreshSnapshots)
		}
		lead := n.leadership()
		if lead.leading || lead.leader.Raft != "" {
			n.noMajority.Store(false)
		}
		if lead.leading {
			n.maintainCluster(s, caughtUpSince, &backoff)
			continue
		}
		clear(caughtUpSince)
		n.maintainMember(s, &backoff)
	}
}

// keepLevel stores the feature level of the log on disk, so that the node has it after a restart,
// before it has read the log.
func (n *Node) keepLevel(s *raftStack) {
	s.learnLevel(s.FSM.Level())
	level := int(s.level.Load())
	if level <= n.member().Level {
		return
	}
	if err := n.setMember(func(m *storage.Membership) { m.Level = level }); err != nil && n.logOnce.Allow("level") {
		n.log.Warn("can't store the feature level of the log", "level", level, "error", err)
	}
}

// maintainLinks closes links made with former secrets, and warns while links without a
// secret are accepted beside links with a secret.
func (n *Node) maintainLinks() {
	n.links.CloseStale(time.Now())
	n.groups.links.CloseStale(time.Now())
	n.forwarder.Renew()
	n.fronts.Forget(time.Now())
	if by := n.links.Authentication(); n.o.Secrets == nil || by != link.AuthOpen && by != link.AuthSecretOrOpen {
		n.openLoggedAt = time.Time{}
		return
	}
	if now := time.Now(); n.openLoggedAt.IsZero() || now.Sub(n.openLoggedAt) >= openWarnInterval {
		n.openLoggedAt = now
		n.log.Warn("links without a cluster secret are accepted, so any node that reaches this one is accepted; remove the "+
			"line from the file when all nodes have a secret",
			"line", link.NoSecret)
	}
}

// maintainCluster does the leader's periodic work.
func (n *Node) maintainCluster(s *raftStack, caughtUpSince map[string]time.Duration, backoff *pollBackoff) {
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	if backoff.due(s.raft.CurrentTerm(), s.raft.LastIndex()) {
		n.syncClock(ctx, s)
	}
	backoff.record(n.allCaughtUp(s))
	n.announce(ctx, s)
	n.promote(ctx, s, caughtUpSince)
	n.removeDead(ctx, s)
	n.raiseLevel(ctx, s)
	if !s.settled.Load() && !n.isSettling(s) {
		s.settled.Store(true)
	}
}

// announce publishes this node's Member data, if the log has other data.
func (n *Node) announce(ctx context.Context, s *raftStack) {
	m := n.memberOf(n.identity().Node)
	if s.FSM.Members()[m.Node] == m {
		return
	}
	lead := n.leadership()
	var err error
	switch {
	case lead.leading:
		err = n.logMember(ctx, m)
	case lead.leader.Raft != "" && !lead.elected:
		err = n.links.Call(ctx, lead.leader.Raft, callAnnounce, m, nil)
	}
	if err != nil && n.logOnce.Allow("announce") {
		n.log.Info("the leader rejected this node's member data", "error", err)
	}
}

// promote gives a vote to members that have caught up, one at a time.
func (n *Node) promote(ctx context.Context, s *raftStack, caughtUpSince map[string]time.Duration) {
	now, last, reports := n.mono(), s.raft.LastIndex(), n.peers.all()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		id := string(server.ID)
		p, known := reports[id]
		if server.Suffrage == raft.Voter || !known || now-p.At > 2*maintainInterval || p.LastIndex+caughtUp < last {
			delete(caughtUpSince, id)
			continue
		}
		if _, ok := caughtUpSince[id]; !ok {
			caughtUpSince[id] = now
		}
		if now-caughtUpSince[id] < caughtUpFor {
			continue
		}
		if err := s.raft.AddVoter(server.ID, server.Address, 0, remaining(ctx)).Error(); err != nil {
			n.log.Warn("can't give a vote to a member that has caught up", "node", id, "raft", string(server.Address), "error",
				err)
			return
		}
		n.log.Info("a member has caught up and has a vote now", "node", id, "raft", string(server.Address))
		return
	}
}

// removeDead removes the member that has been silent longest, if for longer than DeadAfter
// and enough healthy voters remain for the cluster to stay safe without it.
func (n *Node) removeDead(ctx context.Context, s *raftStack) {
	if n.o.DeadAfter <= 0 {
		return
	}
	now, self := n.mono(), n.identity().Node
	var dead raft.Server
	var silent time.Duration
	well := 0
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		since := n.peers.silentFor(string(server.ID), now)
		switch {
		case string(server.ID) == self || since < 3*maintainInterval:
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
	if err := n.remove(ctx, s, string(dead.ID), why); err != nil && n.logOnce.Allow("dead") {
		n.log.Warn("can't remove a dead node", "node", string(dead.ID), "error", err)
	}
}

// allCaughtUp reports whether all members are voters, have all of the leader's log, and
// were heard from recently.
func (n *Node) allCaughtUp(s *raftStack) bool {
	self, last, reports, now := n.identity().Node, s.raft.LastIndex(), n.peers.all(), n.mono()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		p := reports[string(server.ID)]
		if string(server.ID) != self && (server.Suffrage != raft.Voter || p.LastIndex < last || now-p.At > maintainInterval) {
			return false
		}
	}
	return true
}

// raiseLevel lets the log use the features that all members support.
func (n *Node) raiseLevel(ctx context.Context, s *raftStack) {
	level, members := n.o.level, s.FSM.Members()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		level = min(level, members[string(server.ID)].Level)
	}
	if level <= s.FSM.Level() {
		return
	}
	if err := s.proposeControl(ctx, fsm.ControlEntry{Level: level}); err == nil {
		n.log.Info("all members support newer features; the log may use them from now on", "level", level)
	}
}

// maintainMember does a follower's periodic work: it publishes its Member data, detects that it was
// removed, finds out whether it is ready, and restarts a stuck raft.
//
// Source of the restart: hashicorp/raft, issue 697. After a snapshot from the leader raft v1.7.3
// may reject every entry until it is restarted.
func (n *Node) maintainMember(s *raftStack, backoff *pollBackoff) {
	ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
	defer cancel()
	lead := n.leadership()
	if lead.elected {
		return // it has yet to apply what earlier leaders logged
	}
	n.announce(ctx, s)
	leader := lead.leader
	if leader.Raft == "" {
		backoff.record(false)
		n.checkRemoved(s)
		return
	}
	if !backoff.due(s.raft.CurrentTerm(), s.raft.LastIndex()) {
		return
	}
	backoff.record(false)
	test := n.testReady(s)
	var p peerStatus
	if err := n.links.Call(ctx, leader.Raft, callStatus, struct{}{}, &p); err != nil || p.Leader != leader.Node {
		return
	}
	n.mergeLeaderView(p)
	s.learnLevel(p.Level)
	s.leaderLast.Store(p.LastIndex)
	if test.passes(p) {
		s.settled.Store(true)
	}
	s.FSM.Compare(p.Skips)
	if s.catchUp == 0 {
		s.catchUp = max(1, p.AppliedIndex)
	}
	caughtUp := s.raft.AppliedIndex() >= s.catchUp
	if caughtUp {
		s.FSM.SetCurrent(s.catchUp)
	}
	backoff.record(caughtUp && s.settled.Load() && p.LastIndex == s.raft.LastIndex() &&
		summariesReach(p.Peers, p.LastIndex))
	if s.Storing() {
		return // the disk is slow; watchDisk handles that
	}
	got := received{last: s.raft.LastIndex()}
	var refused int64
	if got.writes, refused = s.Snapshots.Counts(); s.isStuck(got, refused, p.LastIndex) {
		n.restartRaft(fmt.Sprintf("entry %d has been the last for %v, and the leader is at %d", got.last,
			stuckChecks*maintainInterval, p.LastIndex))
	}
}

// isStuck is called once per maintainInterval with the node's progress, the number of
// snapshots with nothing new, and the leader's last entry. It reports whether nothing was
// received for too long: neither an entry nor a part of a snapshot.
//
// It reports so earlier if the leader repeatedly sends a snapshot of entries that the node
// has: raft then rejects the entries that follow the snapshot, because of its record of
// the last entry.
func (s *raftStack) isStuck(got received, refused int64, leaders uint64) bool {
	switch {
	case got != s.lastReceived:
		s.lastReceived, s.unchangedChecks, s.refusedBefore = got, 0, refused
		return false
	case refused-s.refusedBefore >= stuckRefusals:
		s.refusedBefore = refused
		return true
	case got.last >= leaders:
		s.unchangedChecks = 0
		return false
	}
	s.unchangedChecks++
	if s.unchangedChecks < stuckChecks {
		return false
	}
	s.unchangedChecks = 0
	return true
}

// mergeLeaderView records the leader's status and its summaries of the other members.
func (n *Node) mergeLeaderView(leader peerStatus) {
	now, self := n.mono(), n.identity().Node
	n.peers.record(peerReport{peerStatus: leader, At: now})
	for _, w := range leader.Peers {
		if w.Node != self {
			n.peers.record(peerReport{peerStatus: peerStatus{Node: w.Node, LastIndex: w.LastIndex}, At: now - w.Seen})
		}
	}
}

// checkRemoved asks the other nodes for their leader. If the leader's configuration lacks
// this node, it was removed, which is fatal.
func (n *Node) checkRemoved(s *raftStack) {
	if s.FSM.Diverged() {
		return // the leader removes it when it joins again
	}
	servers := n.findMembers(s)
	if self := n.identity().Node; len(servers) > 0 &&
		!slices.ContainsFunc(servers, func(x storage.Server) bool { return x.Node == self }) {
		n.fatal(fmt.Errorf("this node, %s, was removed from the cluster; to be a member again it needs an empty data "+
			"directory and --join", self))
	}
}

// findMembers asks all known nodes for the leader of this cluster, and returns the leader's
// list of members; an empty list: no leader was found. It also updates noMajority.
func (n *Node) findMembers(s *raftStack) []storage.Server {
	self := n.self()
	asked, answered := []string{self.Raft}, []string{self.Node}
	next := n.configuredPeers()
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
	n.noMajority.Store(!isMajority(s.raft, answered))
	return nil
}

// isMajority reports whether nodes include a majority of the voters.
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

// watchDisk is the goroutine that ends a node with a hanging disk. Time without a running
// process does not count.
func (n *Node) watchDisk() {
	n.disk.Run(n.stopping, func() bool {
		s := n.stack.Load()
		if s == nil {
			return false
		}
		busy, err := s.CheckWrites(isLeader(s.raft))
		if err != nil {
			n.fatal(err)
		}
		return busy
	})
}
