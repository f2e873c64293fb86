package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"limitsrv/histogram"
	"limitsrv/loglimit"
	"limitsrv/persist"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
	"limitsrv/replication/raftfix"
)

// A raftStack is raft of one member with its FSM, log, vote store, snapshots and
// transport.
type raftStack struct {
	raft       *raft.Raft
	begun      time.Time // when raft was started
	fsm        *fsm
	log        *persist.Log
	entries    *raftfix.LogStore
	stable     *raftfix.VoteStore
	snapshots  *raftfix.SnapshotStore
	transport  *raftfix.Transport
	storeTimes histogram.Histogram // of the log
	notify     chan bool           // true: this node was elected; false: it leads no more
	stopped    chan struct{}       // closed when the stack is stopped
	observer   *raft.Observer
	loggedTerm atomic.Uint64 // the last term with a logged leader

	logWrites      *persist.Stopwatch
	voteWrites     *persist.Stopwatch // of the term and the vote
	snapshotWrites *persist.Stopwatch

	saving   atomic.Bool
	saveMu   sync.Mutex
	lastSave savedSnapshot
	newest   raft.SnapshotMeta // newest snapshot on disk
	restored int64             // fsm.counts.installed when newest was read; maintain goroutine only

	lastReceived    received // at the last call of isStuck; maintain goroutine only
	unchangedChecks int      // calls of isStuck since lastReceived changed; maintain goroutine only
	refusedBefore   int64    // refused snapshots when lastReceived changed; maintain goroutine only
}

// received is the progress of a node: its last entry, and the count of snapshot writes.
type received struct {
	last   uint64
	writes int64
}

const (
	raftDir      = persist.MemberDir
	logName      = "log"
	votesName    = "votes.db"
	retained     = 2  // snapshots
	maxAppend    = 16 // entries read at once for a follower, each of which may be a transaction of 16 MB
	segmentShare = 4  // part of SnapshotLogBytes that one segment of the log has
)

// startRaft starts this node as the stored member, unless the node stops: it deletes data
// kept under other ids, opens log, snapshots and votes, and starts raft.
func (n *Node) startRaft() error {
	if n.stopping.Err() != nil {
		return errStopped
	}
	m := n.member()
	if err := removeOldNodes(n.dir.FS, n.dir.FS.PathJoin(n.dir.Path, raftDir), m.Node); err != nil {
		return fmt.Errorf("delete the data of former node ids: %w", err)
	}
	s, err := n.openStack(&m)
	if err != nil {
		return fmt.Errorf("open the log of node %s: %w", m.Node, withHint(err, n.o.Dir))
	}
	boot, synced := n.o.boot(), n.o.policy() == persist.Always
	err = n.setMember(func(m *membership) {
		m.setOpened(boot, synced)
		m.Raft = n.o.Raft
	})
	if err == nil {
		err = n.newRaft(s, &m)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	n.stack.Store(s)
	n.wait.Go(func() { n.watchLeadership(s) })
	n.log.Info("member of a cluster", "cluster", m.Cluster.String(), "node", m.Node, "raft", n.o.Raft,
		"log_index", s.raft.LastIndex(), "applied", s.raft.AppliedIndex())
	return nil
}

// openStack opens the log, the snapshots and the votes, and makes the FSM.
func (n *Node) openStack(m *membership) (s *raftStack, err error) {
	dir := n.dir.FS.PathJoin(n.dir.Path, raftDir, m.Node)
	if err := persist.MakeDir(n.dir.FS, dir); err != nil {
		return nil, err
	}
	s = &raftStack{
		notify: make(chan bool, 64), stopped: make(chan struct{}), fsm: newFSM(m, n.o.Monotonic, n.o.Commands),
		logWrites: n.disk.Stopwatch(), voteWrites: n.disk.Stopwatch(), snapshotWrites: n.disk.Stopwatch(),
	}
	s.fsm.onApplied, s.fsm.applied, s.fsm.maxLevel = n.proposalApplied, n.o.applied, n.o.level
	stable, snapshots, err := n.o.stores(dir)
	if err != nil {
		return nil, err
	}
	s.stable, s.snapshots = raftfix.NewVoteStore(stable), raftfix.NewSnapshotStore(snapshots, s.snapshotWrites)
	s.refreshSnapshots()
	s.log, err = persist.OpenLog(n.dir.FS, n.dir.FS.PathJoin(dir, logName), persist.LogOptions{
		Policy:       n.o.policy(),
		SegmentBytes: n.o.SnapshotLogBytes / segmentShare,
		Least:        m.minLastIndex(),
		SameBoot:     m.sameBoot(n.o.boot()),
		OnError:      func(err error) { n.fatal(fmt.Errorf("the log can't be written: %w", err)) },
	})
	if err != nil {
		return nil, errors.Join(err, s.stable.Close())
	}
	if d := s.log.Dropped(); d != nil {
		d.Warn(n.log)
	}
	s.entries = raftfix.NewLogStore(s.log.Raft(), raftfix.LogStoreOptions{
		Snapshots: s.snapshots, Monotonic: n.mono, Writing: s.logWrites, Stored: func(took time.Duration) { s.storeTimes.Add(took, 1) },
	})
	return s, nil
}

// openStores opens the votes and the snapshots of a node.
func openStores(dir string, logger hclog.Logger) (raft.StableStore, raft.SnapshotStore, error) {
	if err := votesLost(dir); err != nil {
		return nil, nil, err
	}
	stable, err := openBolt(filepath.Join(dir, votesName))
	if err != nil {
		return nil, nil, openingVotes(dir, err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, retained, logger)
	if err != nil {
		return nil, nil, errors.Join(err, raftfix.NewVoteStore(stable).Close())
	}
	return stable, snapshots, nil
}

// openBolt opens the file of a StableStore. Writes are always synced; the list of free
// pages is rebuilt at each start and not written.
func openBolt(path string) (raft.StableStore, error) {
	return raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
}

// newRaft starts raft, after bootstrapping the cluster if that is still to be done.
func (n *Node) newRaft(s *raftStack, m *membership) (err error) {
	config := n.raftConfig(m.Node)
	config.NotifyCh = s.notify
	s.transport = raftfix.NewTransport(raftfix.TransportOptions{
		Stream: n.links.RaftStream(n.peers.nodeAt), Address: n.o.Raft, Timeout: n.rpcTimeout(), Logger: config.Logger,
		NodeAt:   n.peers.nodeAt,
		Answered: func(node string) { n.peers.recordAnswer(node, n.mono()) },
		Starting: link.IsNotYet,
	})
	if len(m.Founding) > 0 {
		err = raft.BootstrapCluster(config, s.entries, s.stable, s.snapshots, s.transport, configurationOf(m.Founding))
		if err != nil && !errors.Is(err, raft.ErrCantBootstrap) { // it was done before
			return errors.Join(err, s.transport.Close())
		}
	}
	stable := s.stable.Timed(s.voteWrites, n.fatal)
	s.raft, err = raft.NewRaft(config, s.fsm, s.entries, stable, s.snapshots, s.transport)
	if err != nil {
		err = &persist.CorruptError{What: "raft's state", File: n.o.Dir, Err: err}
		return errors.Join(withHint(err, n.o.Dir), s.transport.Close())
	}
	s.begun = time.Now()
	s.transport.SetRaft(s.raft)
	stable.SetStarted()
	s.snapshots.SetRaft(s.raft)
	s.observer = raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		if leader, ok := o.Data.(raft.LeaderObservation); ok {
			n.counts.leaders.Add(1)
			n.logLeader(s, leader)
			if leader.LeaderID != "" {
				n.wait.Go(func() { n.forwarder.LeaderIs(string(leader.LeaderID)) })
			}
			n.batcher.kick()
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
	c.HeartbeatTimeout, c.ElectionTimeout = n.shareOf(raftShare), n.shareOf(raftShare)
	c.LeaderLeaseTimeout = n.shareOf(leaseShare)
	c.CommitTimeout = n.o.commitTimeout
	c.MaxAppendEntries = maxAppend
	c.NoLegacyTelemetry = true
	c.SnapshotInterval = 24 * time.Hour // maintain requests snapshots, by bytes
	c.SnapshotThreshold = 1 << 62
	c.TrailingLogs = minTrailing
	c.Logger = newRaftLogger(n.log)
	return c
}

const (
	// logInterval is the time for which the same event is not logged again.
	logInterval = 30 * time.Second
	// maxLoggedEvents bounds the remembered events.
	maxLoggedEvents = 1024
)

// newLogLimiter limits the lines about this node's own events, by name or text.
func newLogLimiter() *loglimit.Limiter[string] {
	return loglimit.New[string](logInterval, maxLoggedEvents, loglimit.Forget)
}

// newRaftLogger returns a logger for raft that logs to another one, and the same warning
// at most once per logInterval.
func newRaftLogger(to *slog.Logger) hclog.Logger {
	return raftfix.NewLogger(to, newLogLimiter().Allow)
}

// configurationOf returns raft's configuration of the founding nodes.
func configurationOf(founding []server) (c raft.Configuration) {
	for _, f := range founding {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(f.Node), Address: raft.ServerAddress(f.Raft)})
	}
	return c
}

// isLeader reports whether r is the leader.
func isLeader(r *raft.Raft) bool { return r.State() == raft.Leader }

// stopRaft shuts raft down and closes its files.
func (n *Node) stopRaft() error {
	s := n.stack.Swap(nil)
	if s == nil {
		return nil
	}
	n.leadingTerm.Store(0)
	s.fsm.stopping.Store(true)
	err := s.raft.Shutdown().Error()
	close(s.stopped)
	whole, last := s.log.Err() == nil, s.log.Last()
	err = errors.Join(err, s.transport.Close(), s.close())
	if err == nil && whole {
		err = n.setMember(func(m *membership) { m.Clean, m.Last = true, last })
	}
	return err
}

// close closes the files.
func (s *raftStack) close() error { return errors.Join(s.log.Close(), s.stable.Close()) }

// restartRaft stops a raft that is stuck and starts it again from disk.
func (n *Node) restartRaft(why string) {
	n.raftMu.Lock()
	defer n.raftMu.Unlock()
	if n.stopping.Err() != nil {
		return
	}
	n.log.Warn("restarting raft from disk", "reason", why)
	n.counts.restarts.Add(1)
	hangs := time.AfterFunc(followerHang, func() {
		n.fatal(fmt.Errorf("raft is stuck (%s) and was not restarted within %v", why, followerHang))
	})
	defer hangs.Stop()
	if err := n.stopRaft(); err != nil {
		n.fatal(fmt.Errorf("raft is stuck (%s) and can't be stopped: %w", why, err))
		return
	}
	if err := n.startRaft(); err != nil {
		n.fatal(fmt.Errorf("raft was stuck (%s) and can't be restarted: %w", why, err))
	}
}

// propose puts a proposal into the log and waits until the FSM begins to apply it, or it
// may never be applied. It returns raft's error. The next proposal may follow while the
// FSM still applies this one.
func (n *Node) propose(f *proposal) error {
	s := n.stack.Load()
	if s == nil {
		return forward.ErrNotAccepted
	}
	s.fsm.proposal.Store(f)
	future := s.raft.ApplyLog(raft.Log{Data: f.data}, n.o.ElectionTimeout)
	outcome := make(chan error, 1)
	n.wait.Go(func() { outcome <- future.Error() })
	var err error
	select {
	case <-f.applying:
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

// proposalApplied is called by the FSM after it applied this node's proposal.
func (n *Node) proposalApplied(f *proposal) { n.batcher.applied <- f }

// proposeControl puts an entry about the cluster into the log.
func (s *raftStack) proposeControl(ctx context.Context, c controlEntry) error {
	data, err := encodeControl(c)
	if err != nil {
		return err
	}
	timeout := time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	return s.raft.Apply(data, timeout).Error()
}
