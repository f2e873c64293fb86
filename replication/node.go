package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A Node is one of several that decide as one. It is an Exec. All methods may be
// called by many at once, but for Close, which comes last.
type Node struct {
	o       Options
	log     *slog.Logger
	dir     *persist.Dir
	fatal   func(error)
	wall    func() engine.Instant
	mono    func() time.Duration // for waits; that of stamps is Options.Monotonic
	maxHold time.Duration

	links     *links
	forwarder *forwarder
	batcher     *batcher
	clock     *leaderClock
	local     localEngine // for NoQuorumLocal
	maxMemory atomic.Int64
	evict     atomic.Bool
	counts    nodeCounts
	logOnce      *logLimiter
	peers     peerTable
	waiters   waiters
	disk      *persist.DiskWatch
	openLoggedAt  time.Time // when it was last said that links need no secret; attend alone
	silence   leaderSilence

	stack atomic.Pointer[raftStack] // nil: this node is no member yet
	leadingTerm  atomic.Uint64        // the term in which this node decides; 0: it does not
	// unreached says that no leader is known, and less than a majority has answered.
	noMajority atomic.Bool
	steppingDown   atomic.Bool // it hands its office over, or has

	raftMu sync.Mutex // held by whoever takes or leaves the seat

	membershipMu    sync.Mutex // held by whoever changes the membership, until it is on disk
	mu         sync.Mutex
	membership membership

	stopping context.Context
	stop     context.CancelFunc
	wait     sync.WaitGroup
}

// nodeCounts are totals since the start.
type nodeCounts struct {
	uncertain, forwarded     atomic.Int64
	allowed, denied, locally atomic.Int64 // ops answered without a quorum, by policy
	refused                  atomic.Int64 // batches answered CLUSTERDOWN
	elected, leaders         atomic.Int64 // times that this node was elected, and changes of leader that it has seen
	clamps                   atomic.Int64 // looks at which the clock was beyond clockFar
	clamped, offset          atomic.Int64 // how far off it was at the last of them, and this node's clock; nanoseconds
	restarts                 atomic.Int64 // of raft, for being stuck
}

// Open takes the data directory and the address, and begins: it goes on as the
// member that it was, or founds a cluster, or joins one, in the background. Until
// then, and whenever there is no leader, Exec answers as Options.NoQuorum says.
func Open(o Options) (*Node, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := persist.OpenDir(o.fs, o.Dir)
	if err != nil {
		return nil, withHint(err, o.Dir)
	}
	n := &Node{
		o: o, log: o.Logger, dir: dir, wall: o.Wall, mono: monotonicClock(), maxHold: holdHalfTimeouts * o.ElectionTimeout / 2,
		fatal: firstCallOnly(o.Fatal), logOnce: newLogLimiter(), clock: newLeaderClock(o.Monotonic), disk: persist.NewDiskWatch(), silence: newLeaderSilence(),
	}
	n.maxMemory.Store(o.MaxMemory)
	n.evict.Store(o.Evict)
	n.stopping, n.stop = context.WithCancel(context.Background())
	n.batcher = newBatcher(n)
	if err := n.startServices(); err != nil {
		n.stop()
		return nil, errors.Join(err, dir.Close())
	}
	return n, nil
}

// holdElections is how long what clients ask waits for a leader, in half election
// timeouts: an election takes up to two, and what comes before and after it some.
const holdHalfTimeouts = 5

// onceWith is f for the first call only.
func firstCallOnly(f func(error)) func(error) {
	var once sync.Once
	return func(err error) { once.Do(func() { f(err) }) }
}

// begin reads who this node is, listens, and starts what goes on in the background.
func (n *Node) startServices() (err error) {
	if n.membership, err = readMembership(n.dir); err != nil {
		return withHint(err, n.o.Dir)
	}
	listener, err := n.o.Network.Listen(n.o.Bind)
	if err != nil {
		return fmt.Errorf("listen for other nodes at %s: %w", n.o.Bind, err)
	}
	n.links, err = newLinks(linkOptions{
		listener: listener, dial: n.o.Network.Dial, address: n.o.Raft, tls: n.o.TLS, secrets: n.o.Secrets, identity: n.identity,
		call: n.answerCall, exec: n.execForOthers, commit: n.Commit, lost: n.linkLost, log: n.log,
		timeout: n.callTimeout(), answerTimeout: max(n.rpcTimeout(), leaderHang+n.callTimeout()),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	n.forwarder = newForwarder(n.links)
	if err := n.resume(); err != nil {
		return errors.Join(err, n.links.close())
	}
	n.wait.Go(n.links.serve)
	n.wait.Go(func() { n.batcher.run(n.stopping) })
	n.wait.Go(n.batcher.answerAll)
	n.wait.Go(n.joinOrBootstrap)
	n.wait.Go(n.maintain)
	n.wait.Go(n.watchDisk)
	n.wait.Go(n.watchLeader)
	return nil
}

// resume goes on as the member that this node was, if its state is whole.
func (n *Node) resume() error {
	m := &n.membership
	switch {
	case m.Cluster.zero() || len(m.Founding) > 0:
		return nil
	case m.lostTail(n.o.boot()):
		n.log.Warn("the system went down with a log that was not on disk: this node joins the cluster anew when it finds a leader",
			"cluster", m.Cluster.String(), "node", m.Node)
		return nil
	case m.Raft != "" && m.Raft != n.o.Raft:
		return fmt.Errorf("data directory %s is of the node that others reach at %s, and --raft is %s: give that address, or an empty directory and --join",
			n.o.Dir, m.Raft, n.o.Raft)
	}
	return n.startRaft()
}

// callTimeout is for dials, greetings and calls between nodes.
func (n *Node) callTimeout() time.Duration { return max(n.o.ElectionTimeout, minCallTimeout) }

const minCallTimeout = 200 * time.Millisecond

// identity is who this node is as of now.
func (n *Node) identity() identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	return identity{Cluster: n.membership.Cluster, Node: n.membership.Node}
}

// member is a copy of the membership.
func (n *Node) member() membership {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.membership
}

// setMember writes who this node is from now on.
func (n *Node) setMember(change func(*membership)) error {
	n.membershipMu.Lock()
	defer n.membershipMu.Unlock()
	m := n.member()
	m.Founding = slices.Clone(m.Founding)
	change(&m)
	if err := m.write(n.dir); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.membership = m
	return nil
}

// Exec has a batch decided. done is called once, from any goroutine, with the
// decisions in place or an error that has a Code: UNCERTAIN if the batch may or may
// not have been carried out, any other if it was not. It does not block.
func (n *Node) Exec(batch *engine.Batch, done func(error)) {
	if batch.Looks() && n.answerLook(batch) {
		done(nil)
		return
	}
	n.batcher.add(waitingRequest{request: request{batch, done}})
}

// execForOthers is Exec for what another node forwards.
func (n *Node) execForOthers(batch *engine.Batch, done func(error)) {
	if batch.Looks() && n.leadership().leading && n.answerLook(batch) {
		done(nil)
		return
	}
	n.batcher.add(waitingRequest{request: request{batch, done}, remote: true})
}

// Commit says that its caller has no more to execute for now.
func (n *Node) Commit() { n.batcher.kick() }

// look answers a batch that only looks from what this node has applied, if it
// leads, or the batch may be answered from what is behind.
func (n *Node) answerLook(batch *engine.Batch) bool {
	lead := n.leadership()
	if lead.stack == nil || !lead.leading && !batch.Stale {
		return false
	}
	fsm := lead.stack.fsm
	now := fsm.now()
	if lead.leading {
		now = n.clock.now()
	}
	convertExpects(batch, lead.term)
	fsm.engine.Load().Look(now, batch)
	convertExpects(batch, lead.term) // twice is not at all
	for i := range batch.Ops {
		if batch.Ops[i].Kind == engine.Watch {
			d := &batch.Decisions[i]
			d.Remaining = termFingerprint(d.Remaining, lead.term)
		}
	}
	return true
}

// Engine is the engine as of now: for looks that are no ops. It is another one
// after a snapshot came from the leader.
func (n *Node) Engine() *engine.Engine {
	if s := n.stack.Load(); s != nil {
		return s.fsm.engine.Load()
	}
	return n.local.empty()
}

// Now is the time of the cluster, as far as this node knows.
func (n *Node) Now() engine.Instant {
	s := n.stack.Load()
	switch {
	case n.leadingTerm.Load() != 0:
		return n.clock.now()
	case s != nil && s.fsm.stamp.Load() > 0:
		return s.fsm.now()
	}
	return n.wall()
}

// SetBound bounds the memory of keys from now on, where this node leads; 0 is no bound.
func (n *Node) SetBound(maxMemory int64, evict bool) {
	n.maxMemory.Store(maxMemory)
	n.evict.Store(evict)
}

// Sweep forgets keys of some pages that are as good as new, as Engine.Sweep does.
// They are so at the last stamp, which is no later than that of any entry to come.
func (n *Node) Sweep(pages int) (forgotten int64) {
	s := n.stack.Load()
	if s == nil {
		return 0
	}
	stamp := engine.Instant(s.fsm.stamp.Load())
	return s.fsm.engine.Load().Sweep(stamp, pages)
}

// An office is what a node is in its cluster at a moment.
type leadership struct {
	stack    *raftStack // nil: no member
	term    uint64
	elected bool   // it leads, but has not yet carried out what was before
	leading bool   // it leads and decides
	leader  server // empty: it knows none
}

// office is that of now.
func (n *Node) leadership() (o leadership) {
	if o.stack = n.stack.Load(); o.stack == nil {
		return o
	}
	raft := o.stack.raft
	o.term = raft.CurrentTerm()
	o.elected = isLeader(raft)
	o.leading = o.elected && n.leadingTerm.Load() == o.term
	address, id := raft.LeaderWithID()
	if o.leader = (server{Node: string(id), Raft: string(address)}); !o.elected && o.leader.Raft == n.o.Raft {
		o.leader = server{} // raft changes its state and its leader one after the other
	}
	return o
}

// StepDown transfers leadership if this node leads, so that another one decides before
// this one ends. It comes before Close, and is for good. It returns when ctx ends.
func (n *Node) StepDown(ctx context.Context) {
	n.steppingDown.Store(true)
	if s := n.stack.Load(); s != nil && isLeader(s.raft) {
		if err := n.transfer(ctx, s, ""); err != nil {
			n.log.Warn("leadership transfer failed; the other nodes elect a leader when this node has ended", "error", err)
		}
	}
}

// Close ends the node in good order. Nobody calls Exec any more. When ctx ends first,
// e.g. because the disk hangs, it returns an error and the process is to end: goroutines
// are left behind, the directory is still locked, and a start reads it as after a crash.
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

// close is Close once the node is stopping. It may hang with the disk.
func (n *Node) close() error {
	n.forwarder.close()
	n.raftMu.Lock() // who takes a seat at this moment has it then, and nobody does later
	err := n.stopRaft()
	n.raftMu.Unlock()
	err = errors.Join(err, n.links.close())
	close(n.batcher.applied) // the machine has ended with the seat
	n.wait.Wait()
	return errors.Join(err, n.dir.Close())
}

// tcp is the Network of the system.
type tcp struct{ from *net.TCPAddr }

func (tcp) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func (t tcp) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	if t.from != nil {
		d.LocalAddr = t.from
	}
	return d.DialContext(ctx, "tcp", address)
}

// systemNetwork dials from the host that a node listens at, so that others can tell
// who it is by that.
func systemNetwork(bind string) Network {
	host, _, err := net.SplitHostPort(bind)
	if ip := net.ParseIP(host); err == nil && ip != nil && !ip.IsUnspecified() {
		return tcp{&net.TCPAddr{IP: ip}}
	}
	return tcp{}
}
