package replication

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
)

// A simPlan is the configuration of a run.
type simPlan struct {
	seed     uint64
	length   time.Duration
	election time.Duration
	commit   time.Duration // Options.commitTimeout
	ack      Ack
	fsync    persist.Policy
	logBytes int64 // Options.SnapshotLogBytes
	noQuorum NoQuorum
	dead     time.Duration // Options.DeadAfter
	// leaderLease is Options.leaderLease: with a long lease, a leader that is cut off takes
	// itself for the leader while another node decides, as after a pause of its process.
	leaderLease time.Duration
	// drift is the deviation of the speeds of the clocks of leases from 1.
	drift float64
	// upgrade is the level of the log that the founding nodes support until they restart; 0: all.
	upgrade int
	// idleGap and busyGap are the average pauses of each client between its calls.
	idleGap, busyGap time.Duration
}

// simFounders is the number of founding nodes.
const simFounders = 3

// A simCluster is a cluster of nodes in a single process, with its machines and clients.
// All runs in a single bubble of testing/synctest.
type simCluster struct {
	plan    simPlan
	net     *simNet
	history *simHistory
	stats   simStats
	logs    simtest.Logs
	ending  chan struct{} // closed when clients must end
	front   *simFront     // nil: there is no front
	wait    sync.WaitGroup

	// Until all is repaired: changing: the members change, so the majority is unknown;
	// losing: a node's state is lost, so no other may be lost.
	changing, losing bool

	mu      sync.Mutex
	rng     *rand.Rand
	nodes   []*simNode // including removed nodes
	keys    simtest.Workload
	busy    bool  // clients call often
	quiet   bool  // clients make no calls
	inCalls int   // clients with a pending call
	bound   int64 // of the memory of keys; 0: no bound
	evict   bool
}

// simStats are statistics of a run.
type simStats struct {
	troubles map[string]int
	failover []time.Duration
}

// A simNode is a machine for a node, and its current process.
type simNode struct {
	cluster *simCluster
	name    string
	clock   *simtest.Clock

	mu      sync.Mutex
	disk    *simDisk
	process *simProcess // nil: no process
	broken  bool        // its disk may fail or hang, and the process end
	removed bool        // it is no longer, or never was, a member
	had     simProgress
	started bool // once
}

// simProgress is the progress of the last process on a machine, and its node id.
type simProgress struct {
	node  string
	index uint64
}

// A simProcess is a Node that runs, or has run.
type simProcess struct {
	on   *simNode
	host *simHost
	node *Node
	// rules are the rules by which the node decides.
	rules simtest.Rules
	gone  chan struct{} // closed when it has crashed or ended

	mu    sync.RWMutex // held for reading by Exec
	ended bool

	undecided sync.Map // batches answered without a majority, with the time without a leader
}

// leaderless returns the time that the node has been without a leader.
func (p *simProcess) leaderless() time.Duration { return p.node.batcher.Leaderless() }

func newSimCluster(plan simPlan) *simCluster {
	c := &simCluster{
		plan: plan, net: newSimNet(plan.seed, 500*time.Microsecond), history: newSimHistory(),
		rng: rand.New(rand.NewPCG(plan.seed, 1)), ending: make(chan struct{}),
		stats: simStats{troubles: map[string]int{}}, logs: simtest.Logs{Verbose: *simFlags.Verbose, Counted: simCounted},
	}
	c.logs.OnCounted = func(text string) {
		if text == textTimeByClocks {
			c.history.timeByClocks()
		}
	}
	for range simFounders {
		c.addNode()
	}
	return c
}

// simCounted are the messages, or their ends, that are counted.
var simCounted = []string{"Installed remote snapshot", "restarting raft from disk", "a node joins the cluster",
	textTimeByStamp, textTimeByClocks}

// fault records a fault.
func (c *simCluster) fault(format string, args ...any) {
	c.history.Mu.Lock()
	defer c.history.Mu.Unlock()
	c.history.Fault(format, args...)
}

// intN returns a random number below n.
func (c *simCluster) intN(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

// between returns a random duration.
func (c *simCluster) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.intN(int((most-least)/time.Millisecond)+1))*time.Millisecond
}

func (c *simCluster) addNode() *simNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &simNode{cluster: c, name: fmt.Sprint("n", len(c.nodes)+1), clock: simtest.NewClock(0), disk: newSimDisk()}
	c.nodes = append(c.nodes, n)
	return n
}

// all returns the machines.
func (c *simCluster) all() []*simNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// members returns the machines that should be members.
func (c *simCluster) members() []*simNode {
	return slices.DeleteFunc(c.all(), func(n *simNode) bool { return n.isRemoved() })
}

func simNames(nodes []*simNode) (names []string) {
	for _, n := range nodes {
		names = append(names, n.name)
	}
	return names
}

func (n *simNode) isRemoved() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.removed
}

func (n *simNode) isBroken() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

func (n *simNode) address() string { return n.name + ":7000" }

// lasting is the clock of leases: half of the nodes have a slow clock, the other half a
// fast clock.
func (n *simNode) lasting() time.Duration {
	drift := n.cluster.plan.drift
	if n.name[len(n.name)-1]%2 == 0 {
		drift = -drift
	}
	passed := time.Since(n.cluster.history.Start)
	return passed + time.Duration(drift*float64(passed))
}

// running returns the process, nil if there is no process.
func (n *simNode) running() *simProcess {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// start starts a process on a machine without a process.
func (n *simNode) start() {
	c := n.cluster
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return
	}
	p := &simProcess{on: n, host: c.net.host(n.name), gone: make(chan struct{})}
	level := fsm.KnownLevel
	if c.plan.upgrade > 0 && !n.started && slices.Index(c.nodes, n) < simFounders {
		level = c.plan.upgrade
	}
	n.started = true
	replay := &simReplay{history: c.history, node: n.name, level: level}
	o := Options{
		level: level,
		Dir:   "/data", Raft: n.address(), Client: n.name + ":6379", Version: "simulated",
		Ack: c.plan.ack, Fsync: c.plan.fsync, ElectionTimeout: c.plan.election, SnapshotLogBytes: c.plan.logBytes,
		Wall: n.clock.Wall, Network: p.host, Fatal: p.fatal, Commands: simtest.Commands,
		Notices: new(engine.Notices), NoQuorum: c.plan.noQuorum, DeadAfter: c.plan.dead, commitTimeout: c.plan.commit,
		undecided: func(b *engine.Batch) { p.undecided.Store(b, p.leaderless()) },
		lasting:   n.lasting, leaderLease: c.plan.leaderLease,
		fs: n.disk.FS, stores: n.disk.open, boot: n.disk.Boot, leastTrailing: 10,
		applied: func(f *fsm.FSM, index uint64, stamp engine.Instant, b *engine.Batch) {
			if !p.isEnded() {
				replay.restored(f, f.Counts().Installed)
				replay.applied(index, stamp, b)
			}
		},
	}
	c.mu.Lock()
	o.MaxMemory, o.Evict = c.bound, c.evict
	c.mu.Unlock()
	o.Logger = c.logs.Logger(n.name)
	for _, other := range c.nodes {
		switch founder := slices.Index(c.nodes, other) < simFounders; {
		case founder && slices.Index(c.nodes, n) < simFounders:
			o.Peers = append(o.Peers, other.address())
		case other != n:
			o.Join = append(o.Join, other.address())
		}
	}
	var err error
	if p.node, err = Open(o); err != nil {
		if !n.broken {
			c.fault("%s does not start: %v", n.name, err)
		}
		p.host.crash(true)
		return
	}
	n.process, p.rules = p, simtest.NodeRules(p.node.Engine)
	if s := p.node.stack.Load(); s != nil && p.node.identity().Node == n.had.node && s.raft.LastIndex() < n.had.index {
		c.fault("%s had applied entry %d, and its log ends at %d", n.name, n.had.index, s.raft.LastIndex())
	}
}

func (p *simProcess) isEnded() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.ended
}

// fatal is for Options.Fatal: the process ends, as by os.Exit.
func (p *simProcess) fatal(err error) {
	n := p.on
	n.mu.Lock()
	expected := n.broken || n.removed
	n.mu.Unlock()
	if !expected {
		n.cluster.fault("fatal error of %s: %v", n.name, err)
	}
	n.cluster.wait.Go(func() { p.crash(100) })
}

// crash ends a process at once: with 100, alone; with less, together with the machine: then
// that percentage of unsynced data is on disk.
func (p *simProcess) crash(percent int) {
	n := p.on
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended = true
	p.mu.Unlock()
	close(p.gone)
	p.host.crash(percent == 100)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.had = p.progress()
	old := n.disk
	n.cluster.mu.Lock()
	n.disk = old.crashed(percent, n.cluster.rng)
	n.cluster.mu.Unlock()
	old.Fault.SetHang(false)
	if n.process == p {
		n.process = nil
	}
	n.cluster.wait.Go(func() { p.end() })
}

// progress returns its progress.
func (p *simProcess) progress() (had simProgress) {
	had.node = p.node.identity().Node
	if s := p.node.stack.Load(); s != nil {
		had.index = s.raft.AppliedIndex()
	}
	return had
}

// simCloseWithin bounds the time until a Node has closed.
const simCloseWithin = time.Minute

// end closes the Node of a process, and returns when nothing of it is left.
func (p *simProcess) end() error {
	if !p.node.steppingDown.Load() {
		brief, cancel := context.WithTimeout(context.Background(), time.Second)
		p.node.StepDown(brief)
		cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), simCloseWithin)
	defer cancel()
	slow := time.AfterFunc(simCloseWithin, func() {
		p.on.cluster.fault("%s does not close within %v", p.on.name, simCloseWithin)
	})
	defer slow.Stop()
	return p.node.Close(ctx)
}

// stop ends a process cleanly.
func (p *simProcess) stop() {
	n := p.on
	if n.isBroken() {
		p.crash(100)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p.node.StepDown(ctx)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended = true
	p.mu.Unlock()
	close(p.gone)
	if err := p.end(); err != nil {
		n.cluster.fault("%s does not end in good order: %v", n.name, err)
	}
	p.host.crash(true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == p {
		n.process = nil
	}
}
