package replication

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
	"limitsrv/replication/election"
	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
	"limitsrv/replication/lease"
	"limitsrv/replication/link"
	"limitsrv/replication/raftfix"
	"limitsrv/replication/storage"
)

// A raftStack is raft of a member with its files and its transport.
type raftStack struct {
	*storage.Files
	raft       *raft.Raft
	begun      time.Time // when raft was started
	transport  *raftfix.Transport
	promise    *lease.Promise
	grants     *lease.Grants
	notify     chan bool     // true: this node was elected; false: it leads no more
	stopped    chan struct{} // closed when the stack is stopped
	observer   *raft.Observer
	loggedTerm atomic.Uint64 // the last term with a logged leader
	// level is the highest feature level that the log of the cluster is known to have, see
	// reaches.
	level      atomic.Int64
	leaderLast atomic.Uint64 // index of the leader's last entry, from its last status
	// settled is set once a leader, after this node published its data, had nothing left to log
	// that requests need. It stays set, so the node remains ready while other nodes are upgraded.
	settled atomic.Bool

	saving   persist.Turn
	saveMu   sync.Mutex
	lastSave savedSnapshot
	retry    persist.Retry // pauses after failed snapshots; guarded by saveMu
	nextSave time.Time     // the earliest time to retry a failed snapshot; guarded by saveMu
	restored int64         // FSM.Counts().Installed at the last RefreshSnapshots; maintain goroutine only
	// catchUp is the last entry that the leader had applied at its first status. Maintain
	// goroutine only.
	catchUp uint64

	lastReceived    received // at the last call of isStuck; maintain goroutine only
	unchangedChecks int      // calls of isStuck since lastReceived changed; maintain goroutine only
	refusedBefore   int64    // refused snapshots when lastReceived changed; maintain goroutine only
}

// received is the progress of a node: its last entry, and the count of snapshot writes.
type received struct {
	last   uint64
	writes int64
}

// maxAppend is the number of entries read at once for a follower. Each entry may be a
// transaction of 16 MB.
const maxAppend = 16

// startRaft starts this node as the stored member, unless the node stops: it deletes data
// kept under other ids, opens log, snapshots and votes, and starts raft.
func (n *Node) startRaft() error {
	if n.stopping.Err() != nil {
		return errStopped
	}
	m := n.member()
	if err := storage.RemoveOldNodes(n.dir, m.Node); err != nil {
		return fmt.Errorf("delete the data of former node ids: %w", err)
	}
	s, err := n.openStack(&m)
	if err != nil {
		return fmt.Errorf("open the log of node %s: %w", m.Node, storage.WithHint(err, n.o.Dir))
	}
	boot, synced := n.o.boot(), n.o.policy() == persist.Always
	err = n.setMember(func(m *storage.Membership) {
		m.SetOpened(boot, synced)
		m.Raft = n.o.Raft
	})
	if err == nil {
		err = n.newRaft(s, &m)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	n.stack.Store(s)
	n.wait.Go(func() { n.watchLeadership(s) })
	n.log.Info("member of a cluster", "cluster", m.Cluster.String(), "node", m.Node, "raft", n.o.Raft,
		"log_index", s.raft.LastIndex(), "applied", s.raft.AppliedIndex())
	return nil
}

// openStack opens the files of a member.
func (n *Node) openStack(m *storage.Membership) (*raftStack, error) {
	files, err := storage.Open(m, storage.Options{
		Dir: n.dir, Stores: n.o.stores, Policy: n.o.policy(), SnapshotLogBytes: n.o.SnapshotLogBytes, Boot: n.o.boot(),
		FSM: fsm.Options{
			Commands: n.o.Commands, Notices: n.o.Notices, Monotonic: n.o.Monotonic, Level: n.o.level,
			Applied: n.o.applied, Diverged: n.diverged, Skipped: n.warnSkipped, Published: n.tellMessages,
		},
		Marks:     true,
		Monotonic: n.mono, Disk: n.disk, Failed: n.diskFailed, Stored: n.entriesStored, Logger: n.log,
	})
	if err != nil {
		return nil, err
	}
	s := &raftStack{Files: files, retry: persist.Retry{Every: time.Second}, notify: make(chan bool, 64),
		stopped: make(chan struct{})}
	s.level.Store(int64(m.Level))
	return s, nil
}

// reaches reports whether the cluster's log is known to have this feature level. Once true it stays
// true.
func (s *raftStack) reaches(level int) bool {
	return int64(level) <= s.level.Load() || level <= s.FSM.Level()
}

// learnLevel records that the cluster's log has reached a feature level.
func (s *raftStack) learnLevel(level int) {
	for {
		known := s.level.Load()
		if int64(level) <= known || s.level.CompareAndSwap(known, int64(level)) {
			return
		}
	}
}

// newRaft starts raft, after bootstrapping the cluster if that is still to be done.
func (n *Node) newRaft(s *raftStack, m *storage.Membership) (err error) {
	config := n.raftConfig(m.Node)
	config.NotifyCh = s.notify
	length, promise := lease.Times(n.o.ElectionTimeout)
	s.promise = lease.NewPromise(n.o.lasting, promise)
	s.grants = lease.NewGrants(lease.GrantOptions{
		Clock: n.o.lasting, Length: length, Confirmed: n.looks.kickIfAny,
		Voters: func() (bool, []string) { return s.transport.Voters() },
	})
	s.transport = raftfix.NewTransport(raftfix.TransportOptions{
		Stream: n.links.RaftStream(n.peers.nodeAt), Node: m.Node, Address: n.o.Raft, Timeout: n.rpcTimeout(),
		Logger:  config.Logger,
		Promise: s.promise, Grants: s.grants,
		NodeAt:   n.peers.nodeAt,
		Answered: func(node string) { n.peers.recordAnswer(node, n.mono()) },
		Starting: link.IsNotYet,
	})
	if len(m.Founding) > 0 {
		err = raft.BootstrapCluster(config, s.Entries, s.Votes, s.Snapshots, s.transport, storage.ConfigurationOf(m.Founding))
		switch {
		case err == nil:
			s.FSM.SetFounded()
		case !errors.Is(err, raft.ErrCantBootstrap): // the cluster is bootstrapped already
			return errors.Join(err, s.transport.Close())
		}
	}
	votes := s.TimedVotes(n.diskFailed)
	s.raft, err = raft.NewRaft(config, s.FSM, s.Entries, votes, s.Snapshots, s.transport)
	if err != nil {
		err = &persist.CorruptError{What: "raft's state", File: n.o.Dir, Err: err}
		return errors.Join(storage.WithHint(err, n.o.Dir), s.transport.Close())
	}
	s.begun = time.Now()
	s.transport.SetRaft(s.raft)
	votes.SetStarted()
	s.Snapshots.SetRaft(s.raft)
	s.observer = raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		if leader, ok := o.Data.(raft.LeaderObservation); ok {
			n.counts.leaders.Add(1)
			n.logLeader(s, leader)
			n.o.Notices.Outdated()
			if leader.LeaderID != "" {
				n.wait.Go(func() { n.forwarder.LeaderIs(string(leader.LeaderID)) })
			}
			n.batcher.Kick()
		}
		return false
	})
	s.raft.RegisterObserver(s.observer)
	address, id := s.raft.LeaderWithID() // which raft may have known before the observer was registered
	n.logLeader(s, raft.LeaderObservation{LeaderAddr: address, LeaderID: id})
	n.refreshServers(s.raft)
	return nil
}

// rpcTimeout bounds the wait for another node's answer to a raft request.
func (n *Node) rpcTimeout() time.Duration { return max(2*n.o.ElectionTimeout, time.Second) }

func (n *Node) raftConfig(node string) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(node)
	c.HeartbeatTimeout, c.LeaderLeaseTimeout = election.RaftTimeouts(n.o.ElectionTimeout)
	if n.o.leaderLease > 0 {
		c.LeaderLeaseTimeout = n.o.leaderLease
	}
	c.ElectionTimeout = c.HeartbeatTimeout
	c.CommitTimeout = n.o.commitTimeout
	c.MaxAppendEntries = maxAppend
	c.NoLegacyTelemetry = true
	c.SnapshotInterval = 24 * time.Hour // maintain requests snapshots, by bytes
	c.SnapshotThreshold = 1 << 62
	c.TrailingLogs = minTrailing
	c.Logger = newRaftLogger(n.log)
	return c
}

// refreshServers updates the table of peers from raft's latest configuration.
func (n *Node) refreshServers(r *raft.Raft) { n.setServers(serversOf(r)) }

// isLeader reports whether r is the leader.
func isLeader(r *raft.Raft) bool { return r.State() == raft.Leader }

// stopRaft shuts raft down and closes its files.
func (n *Node) stopRaft() error {
	s := n.stack.Swap(nil)
	if s == nil {
		return nil
	}
	n.leadingTerm.Store(0)
	s.FSM.Stop()
	err := s.raft.Shutdown().Error()
	close(s.stopped)
	whole, last := s.Log.Err() == nil, s.Log.Last()
	err = errors.Join(err, s.transport.Close(), s.Close())
	if err == nil && whole {
		err = n.setMember(func(m *storage.Membership) { m.Clean, m.Last = true, last })
	}
	return err
}

// restartRaft stops a raft that is stuck and starts it again from disk.
func (n *Node) restartRaft(why string) {
	n.raftMu.Lock()
	defer n.raftMu.Unlock()
	if n.stopping.Err() != nil {
		return
	}
	n.log.Warn("restarting raft from disk", "reason", why)
	n.counts.restarts.Add(1)
	hangs := time.AfterFunc(storage.FollowerHang, func() {
		n.fatal(fmt.Errorf("raft is stuck (%s) and was not restarted within %v", why, storage.FollowerHang))
	})
	defer hangs.Stop()
	if err := n.stopRaft(); err != nil {
		n.fatal(fmt.Errorf("raft is stuck (%s) and can't be stopped: %w", why, err))
		return
	}
	if err := n.startRaft(); err != nil && n.stopping.Err() == nil {
		n.fatal(fmt.Errorf("raft was stuck (%s) and can't be restarted: %w", why, err))
	}
}

// roomRetryEvery is the pause before the first attempt to start raft again after the disk was full.
const roomRetryEvery = time.Second

// diskFailed is called when the log, the term or the vote can't be written. It does not block. If
// the disk is full, it stops raft until there is room. Any other error ends the node.
func (n *Node) diskFailed(err error) {
	if !persist.IsFull(err) {
		n.fatal(err)
		return
	}
	n.wait.Go(func() {
		n.raftMu.Lock()
		defer n.raftMu.Unlock()
		if n.stopping.Err() != nil || n.stack.Load() == nil {
			return
		}
		hangs := time.AfterFunc(storage.FollowerHang, func() {
			n.fatal(fmt.Errorf("the disk is full and raft was not stopped within %v: %w", storage.FollowerHang, err))
		})
		stopped := n.stopRaft()
		hangs.Stop()
		if stopped != nil {
			n.fatal(fmt.Errorf("the disk is full (%w) and raft can't be stopped: %w", err, stopped))
			return
		}
		n.awaitRoom(err)
	})
}

// awaitRoom starts raft once the full disk has room. It returns when raft has started or the node
// stops. Requires: raftMu is held, and raft does not run.
func (n *Node) awaitRoom(why error) {
	n.log.Error("the disk is full: this node takes no part in its cluster until there is room; remove files that are "+
		"not limitsrv's, or enlarge the disk",
		"dir", n.o.Dir, "needed_mb", storage.SegmentBytes(n.o.SnapshotLogBytes)>>20, "error", why)
	began, retry := time.Now(), persist.Retry{Every: roomRetryEvery}
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-time.After(retry.Pause()):
		}
		err := n.startRaft()
		switch {
		case err == nil:
			n.log.Info("the disk has room again: this node takes part in its cluster", "after",
				time.Since(began).Round(time.Second))
			return
		case n.stopping.Err() != nil:
			return
		case !persist.IsFull(err):
			n.fatal(fmt.Errorf("the disk was full and raft can't be started: %w", err))
			return
		}
	}
}

// propose puts a proposal into the log and waits until the FSM begins to apply it, or it
// may never be applied. It returns raft's error. The next proposal may follow while the FSM
// still applies this proposal.
func (n *Node) propose(f *proposal) error {
	s := n.stack.Load()
	if s == nil {
		return forward.ErrNotAccepted
	}
	s.FSM.Propose(f.entry)
	future := s.raft.ApplyLog(raft.Log{Data: f.entry.Entry()}, n.o.ElectionTimeout)
	outcome := make(chan error, 1)
	n.wait.Go(func() { outcome <- future.Error() })
	var err error
	select {
	case <-f.entry.Applying():
		return nil
	case err = <-outcome:
	}
	if f.Abandon() && err == nil {
		err = errors.New("committed by raft and not applied here")
		n.log.Error("outcome of a decision unknown", "error", err, "index", future.Index())
	}
	if f.Claimed() {
		return nil // the FSM applies it
	}
	return err
}

// proposeControl puts an entry about the cluster into the log.
func (s *raftStack) proposeControl(ctx context.Context, c fsm.ControlEntry) error {
	data, err := c.Encode()
	if err != nil {
		return err
	}
	timeout := time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	return await(ctx, s.raft.Apply(data, timeout))
}
