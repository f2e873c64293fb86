package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/certs"
	"limitsrv/internal/loglimit"
	"limitsrv/persist"
	"limitsrv/replication/batch"
	"limitsrv/replication/broadcast"
	"limitsrv/replication/election"
	"limitsrv/replication/forward"
	"limitsrv/replication/fronts"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
	"limitsrv/replication/undecided"
)

// A Node is a member of a cluster. It implements Exec. Concurrency: all methods may be
// called from many goroutines, except Close, which must be the last call.
type Node struct {
	o     Options
	log   *slog.Logger
	dir   *persist.Dir
	fatal func(error)
	wall  func() engine.Instant
	mono  func() time.Duration // for timeouts; stamps use Options.Monotonic

	links        *link.Links
	groups       otherGroups
	forwarder    *forward.Client
	messages     *broadcast.Sender
	fronts       *fronts.Hub
	batcher      *batch.Batcher
	proposer     *proposer
	looks        *lookQueue
	fresh        *batch.Round  // callers of Fresh
	stored       chan struct{} // entriesStored was called
	clock        *leaderClock
	undecided    undecided.Answers
	local        localEngine // for undecided.Local
	maxMemory    atomic.Int64
	evict        atomic.Bool
	counts       nodeCounts
	logOnce      *loglimit.Limiter[string]
	peers        peerTable
	waiters      waiters
	disk         *persist.DiskWatch
	openLoggedAt time.Time // last warning about links without a secret; maintain goroutine only
	elections    *election.Watch

	// review, published and asked are set by HandleForwarded, HandlePublished and HandleAsked; nil: not set
	// yet.
	review    atomic.Pointer[func(*engine.Batch, func(error)) func(error)]
	published atomic.Pointer[func(channel, message []byte)]
	asked     atomic.Pointer[func(context.Context, fronts.Asked) ([][]byte, error)]

	stack       atomic.Pointer[raftStack] // nil: this node is not a member yet
	leadingTerm atomic.Uint64             // the term that this node decides in; 0: it does not
	// noMajority: no leader is known, and fewer than a majority of the voters answered.
	noMajority   atomic.Bool
	short        atomic.Bool  // the disk is nearly full: while this node leads it logs no decisions
	checkingRoom atomic.Bool  // checkRoom is running
	forwarding   atomic.Int32 // links of nodes that forward to this node
	steppingDown atomic.Bool  // leadership is being transferred, or was, because the node stops

	raftMu longMutex // held while raft is started or stopped

	membershipMu longMutex // held while the membership is changed, until it is on disk
	mu           sync.Mutex
	membership   storage.Membership

	stopping context.Context
	stop     context.CancelFunc
	wait     sync.WaitGroup
}

// nodeCounts are totals since the start.
type nodeCounts struct {
	forwarded        atomic.Int64 // ops of other nodes' batches, without slow batches
	elected, leaders atomic.Int64 // elections won by this node, and changes of leader observed
	clamps           atomic.Int64 // clock measurements beyond clockWarnDistance
	// distance at the last such measurement, and offset of this node's clock; nanoseconds
	clamped, offset atomic.Int64
	compared        atomic.Bool  // offset is of the clocks of a majority
	restarts        atomic.Int64 // of raft, because it was stuck
	diverged        atomic.Int64 // times that the state turned out to differ from the leader's
}

// Open locks the data directory, listens, and starts the node: it resumes its membership,
// or bootstraps or joins a cluster in the background. Until then, and whenever there is no
// leader, Exec answers according to Options.NoQuorum.
func Open(o Options) (*Node, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := persist.OpenDir(o.fs, o.Dir)
	if err != nil {
		return nil, storage.WithHint(err, o.Dir)
	}
	if err := storage.RemoveLeftovers(dir); err != nil {
		o.Logger.Warn("can't remove files that an earlier process has not completed", "dir", o.Dir, "error", err)
	}
	dir.Protect(o.Logger)
	n := &Node{
		o: o, log: o.Logger, dir: dir, wall: o.Wall, mono: monotonicClock(),
		fatal: firstCallOnly(o.Fatal), logOnce: newLogLimiter(), clock: newLeaderClock(o.Monotonic),
		disk:   persist.NewDiskWatch(),
		raftMu: newLongMutex(), membershipMu: newLongMutex(),
	}
	o.Turns.CountOthers(n.counts.forwarded.Load)
	n.undecided.Policy = o.NoQuorum
	n.SetBound(o.MaxMemory, o.Evict)
	n.stopping, n.stop = context.WithCancel(context.Background())
	n.looks, n.fresh, n.stored = newLookQueue(), batch.NewRound(errStopped), make(chan struct{}, 1)
	n.proposer, n.batcher = newProposer(n),
		batch.New(batch.Options{Node: batchNode{n}, Mono: n.mono, MaxHold: o.maxHold, Stopped: errStopped})
	n.elections, n.fronts = n.newElections(), newFronts(n)
	if err := n.startServices(); err != nil {
		n.stop()
		return nil, errors.Join(err, dir.Close())
	}
	return n, nil
}

// firstCallOnly returns f wrapped to run on the first call only.
func firstCallOnly(f func(error)) func(error) {
	var once sync.Once
	return func(err error) { once.Do(func() { f(err) }) }
}

// startServices reads the membership, listens, and starts the background goroutines.
func (n *Node) startServices() (err error) {
	if n.membership, err = storage.ReadMembership(n.dir); err != nil {
		return storage.WithHint(err, n.o.Dir)
	}
	listener, err := n.o.Network.Listen(n.o.Bind)
	if err != nil {
		return fmt.Errorf("listen for other nodes at %s: %w", n.o.Bind, err)
	}
	n.links, err = link.New(link.Options{
		Listener: listener, Dial: n.o.Network.Dial, Address: n.o.Raft, TLS: n.o.TLS, Secrets: n.o.Secrets,
		Identity: n.identity,
		Call:     n.answerCall, Forwarded: n.serveForwarded, Messages: n.receiveMessages,
		Lost: n.elections.LinkLost, Log: n.log,
		Timeout: n.callTimeout(),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := n.openOutward(); err != nil {
		return errors.Join(err, n.links.Close())
	}
	n.forwarder = forward.New(forward.Options{
		Links: n.links, Log: n.log, Timeout: n.callTimeout(),
		AnswerTimeout: max(n.rpcTimeout(), storage.LeaderHang+n.callTimeout()),
	})
	n.messages = broadcast.New(broadcast.Options{Dial: n.dialMessages, Timeout: n.callTimeout()})
	if err := n.resume(); err != nil {
		n.messages.Close()
		return errors.Join(err, n.links.Close(), n.groups.links.Close())
	}
	n.wait.Go(n.links.Serve)
	n.wait.Go(func() { n.batcher.Run(n.stopping) })
	n.wait.Go(n.proposer.answerAll)
	n.wait.Go(n.answerLooks)
	n.wait.Go(n.answerFresh)
	n.wait.Go(n.followChanges)
	n.wait.Go(n.joinOrBootstrap)
	n.wait.Go(n.maintain)
	n.wait.Go(n.watchDisk)
	n.wait.Go(func() { n.elections.Run(n.stopping) })
	return nil
}

// resume starts raft as the stored member, if the state is complete.
func (n *Node) resume() error {
	m := &n.membership
	switch {
	case m.Division != nil && n.o.Slots != nil && !slices.Equal(m.Division.Owned, n.o.Slots):
		return fmt.Errorf("data directory %s belongs to a group that owns the slots %v, and --slots is %v: slots do not "+
			"move, so give those slots, or an empty directory", n.o.Dir, m.Division.Owned, n.o.Slots)
	case m.Cluster.IsZero() || len(m.Founding) > 0:
		return nil
	case m.Diverged > 0:
		n.log.Warn("this node's state differs from its cluster's; it joins the cluster again under a new id when it finds "+
			"a leader", "cluster", m.Cluster.String(), "node", m.Node)
		return nil
	case m.LostTail(n.o.boot()):
		n.log.Warn("the system crashed with an unsynced log; this node joins the cluster again under a new id when it "+
			"finds a leader", "cluster", m.Cluster.String(), "node", m.Node)
		return nil
	case m.Raft != "" && m.Raft != n.o.Raft:
		return fmt.Errorf("data directory %s belongs to the node at %s, and --raft is %s: give that address, or an empty "+
			"directory and --join", n.o.Dir, m.Raft, n.o.Raft)
	}
	err := n.startRaft()
	if persist.IsFull(err) {
		// While raftMu is held, the node does not join again as another member.
		n.raftMu.Lock()
		n.wait.Go(func() {
			defer n.raftMu.Unlock()
			n.awaitRoom(err)
		})
		return nil
	}
	return err
}

// callTimeout bounds dials, greetings and calls between nodes.
func (n *Node) callTimeout() time.Duration { return max(n.o.ElectionTimeout, minCallTimeout) }

const minCallTimeout = 200 * time.Millisecond

// Certificates returns the certificates of links; nil: links are without TLS.
func (n *Node) Certificates() *certs.Source { return n.links.Certificates() }

// identity returns the current cluster and node ids.
func (n *Node) identity() link.Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	return link.Identity{Cluster: n.membership.Cluster, Node: n.membership.Node}
}

// member returns a copy of the membership.
func (n *Node) member() storage.Membership {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.membership
}

// setMember changes the membership and writes it to disk.
func (n *Node) setMember(change func(*storage.Membership)) error {
	n.membershipMu.Lock()
	defer n.membershipMu.Unlock()
	m := n.member()
	m.Founding = slices.Clone(m.Founding)
	change(&m)
	// An unnecessary write could fail on a full disk.
	if reflect.DeepEqual(m, n.member()) {
		return nil
	}
	if err := m.Write(n.dir); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.membership = m
	return nil
}

// Engine returns the current engine, for reads that are not ops. A snapshot from the
// leader replaces the engine.
func (n *Node) Engine() *engine.Engine {
	if s := n.stack.Load(); s != nil {
		return s.FSM.Engine()
	}
	return n.local.empty()
}

// Now returns this node's estimate of the cluster's time.
func (n *Node) Now() engine.Instant {
	s := n.stack.Load()
	switch {
	case n.leadingTerm.Load() != 0:
		return n.clock.now()
	case s != nil && s.FSM.Stamp() > 0:
		return s.FSM.Now()
	}
	return n.wall()
}

// stamp returns the time of the next entry. Requires: this node leads.
func (n *Node) stamp() engine.Instant { return n.clock.now() }

// bound returns the memory bound.
func (n *Node) bound() engine.Bound {
	return engine.Bound{MaxBytes: n.maxMemory.Load(), Evict: n.evict.Load()}
}

// SetBound sets the memory bound for keys that applies while this node leads; 0 is no
// bound.
func (n *Node) SetBound(maxMemory int64, evict bool) {
	n.maxMemory.Store(maxMemory)
	n.evict.Store(evict)
}

// Sweep purges expired keys of some pages; see Engine.Sweep. Keys are judged at the last
// stamp, which no later entry precedes.
func (n *Node) Sweep(pages int) (forgotten int64) {
	s := n.stack.Load()
	if s == nil {
		return 0
	}
	return s.FSM.Engine().Sweep(s.FSM.Stamp(), pages)
}

// A leadership is a node's role in its cluster at one moment.
type leadership struct {
	stack   *raftStack // nil: not a member
	fsm     *fsm.FSM   // nil: not a member
	term    uint64
	elected bool           // raft elected this node, but it may not have applied all earlier entries yet
	leading bool           // this node leads and decides
	leader  storage.Server // empty: unknown
}

// leadership returns the current role.
func (n *Node) leadership() (o leadership) {
	if o.stack = n.stack.Load(); o.stack == nil {
		return o
	}
	r := o.stack.raft
	o.fsm = o.stack.FSM
	o.term = r.CurrentTerm()
	o.elected = isLeader(r)
	o.leading = o.elected && n.leadingTerm.Load() == o.term
	address, id := r.LeaderWithID()
	o.leader = storage.Server{Node: string(id), Raft: string(address)}
	// Raft updates its state before its leader.
	if !o.elected && (o.leader.Raft == n.o.Raft || n.isForsaken(r)) {
		o.leader = storage.Server{}
	}
	return o
}

// isForsaken reports whether raft is a candidate and its last contact with its leader is longer ago
// than a follower's timeout. Raft v1.7.3 may keep a silent leader as the leader of a candidate, if
// the candidate began its election without a pre-vote and lost it.
func (n *Node) isForsaken(r *raft.Raft) bool {
	silence, _ := election.RaftTimeouts(n.o.ElectionTimeout)
	return r.State() == raft.Candidate && time.Since(r.LastContact()) > silence
}

// redirectTimeout bounds how long StepDown waits until the other nodes forward to the next leader.
const redirectTimeout = 2 * time.Second

// StepDown transfers leadership if this node leads, and waits until the other nodes forward to the
// next leader, so that no forwarded batch is lost with its link when this node stops. It must precede
// Close, and is final. It returns when ctx ends at the latest.
func (n *Node) StepDown(ctx context.Context) {
	n.steppingDown.Store(true)
	s := n.stack.Load()
	if s == nil || !isLeader(s.raft) {
		return
	}
	if err := n.transfer(ctx, s, ""); err != nil {
		n.log.Warn("leadership transfer failed; the other nodes elect a leader when this node has stopped", "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redirectTimeout)
	defer cancel()
	for n.forwarding.Load() > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// Close stops the node cleanly. Requires: no more calls of Exec. If ctx ends first, for
// example because the disk hangs, Close returns an error and the process must exit:
// goroutines remain, the directory is still locked, and the next start recovers as after a
// crash.
func (n *Node) Close(ctx context.Context) error {
	if !n.steppingDown.Load() {
		n.StepDown(ctx)
	}
	n.stop()
	closed := make(chan error, 1)
	go func() { closed <- n.close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the node has not closed its files: %w", context.Cause(ctx))
	}
}

// close does the work of Close after stop. It may hang with the disk.
func (n *Node) close() error {
	n.forwarder.Close()
	n.messages.Close()
	n.raftMu.Lock() // a start of raft under way completes first, and no start follows
	err := n.stopRaft()
	n.raftMu.Unlock()
	err = errors.Join(err, n.links.Close(), n.groups.links.Close())
	close(n.proposer.applied) // the FSM has ended with raft
	n.wait.Wait()
	return errors.Join(err, n.dir.Close())
}
