package persist

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// A simPlan is the configuration of a run.
type simPlan struct {
	seed     uint64
	length   time.Duration
	policy   Policy
	logBytes int64         // Options.SnapshotLogBytes
	slow     time.Duration // maximum duration of an append
}

// A simNode is a machine with a node, its clients, and its current process. All runs in the
// same bubble of testing/synctest.
type simNode struct {
	plan    simPlan
	history *simHistory
	logs    simtest.Logs
	clock   *simtest.Clock
	ending  chan struct{} // closed when clients must end
	wait    sync.WaitGroup
	stats   map[string]int // troubles

	mu      sync.Mutex
	rng     *rand.Rand
	keys    simtest.Workload
	busy    bool // clients call often
	disk    *simtest.Disk
	process *simProcess // nil: no process
	// broken: the disk may have failed or hung, or decisions may be in no log; brokenAt is
	// since when.
	broken   bool
	brokenAt time.Duration
	mayLose  time.Duration // the last process may have lost entries since then
	bound    int64         // of the memory; 0: no bound
	evict    bool
}

// A simProcess is a Store that runs, or has run.
type simProcess struct {
	on    *simNode
	store *Store
	rules simtest.Rules // of the store, once it is ready
	ready atomic.Bool   // recovered
	gone  chan struct{} // closed when it has ended

	mu      sync.Mutex
	ended   bool
	crashed bool           // its writes are not on the machine's disk
	uses    sync.WaitGroup // uses of store
}

func newSimNode(plan simPlan) *simNode {
	return &simNode{
		plan: plan, logs: simtest.Logs{Verbose: *simFlags.Verbose, Counted: simAbandoned}, clock: simtest.NewClock(0),
		ending: make(chan struct{}), stats: map[string]int{},
		history: &simHistory{History: simtest.NewHistory(nil), policy: plan.policy}, rng: rand.New(rand.NewPCG(plan.seed, 1)),
		disk: simtest.NewDisk(),
	}
}

// fault records a fault.
func (n *simNode) fault(format string, args ...any) {
	n.history.Mu.Lock()
	defer n.history.Mu.Unlock()
	n.history.Fault(format, args...)
}

// intN returns a random number below max.
func (n *simNode) intN(max int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rng.IntN(max)
}

// between returns a random duration. It is not a multiple of a period, so that the end of
// a sleep coincides with no other event.
func (n *simNode) between(least, most time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return least + time.Duration(n.rng.Int64N(int64(most-least)))
}

func (n *simNode) running() *simProcess {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

func (n *simNode) isBroken() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

// A simNow is the clock of a process: it never goes back.
type simNow struct {
	clock *simtest.Clock
	last  atomic.Int64
}

func (c *simNow) Now() engine.Instant {
	for {
		last, now := c.last.Load(), int64(c.clock.Wall())
		if now <= last {
			return engine.Instant(last)
		}
		if c.last.CompareAndSwap(last, now) {
			return engine.Instant(now)
		}
	}
}

// start starts a process on a machine without a process. It may crash at once.
func (n *simNode) start() {
	p := &simProcess{on: n, gone: make(chan struct{})}
	p.rules = simtest.NodeRules(func() *engine.Engine { return p.store.Engine() })
	n.mu.Lock()
	disk, mayLose := n.disk, n.mayLose
	n.process = p
	clock := &simNow{clock: n.clock}
	o := Options{
		Dir: testDir, FS: disk.FS, boot: disk.Boot, Policy: n.plan.policy, Clock: clock, Logger: n.logs.Logger("node"),
		Engine:           engine.Options{MaxMemory: n.bound, Evict: n.evict, Commands: simtest.Commands},
		SnapshotLogBytes: n.plan.logBytes, SegmentBytes: n.plan.logBytes / 4, beforeAppend: p.beforeAppend,
	}
	n.mu.Unlock()
	p.uses.Add(1)
	defer p.uses.Done()
	store, err := Open(o)
	p.store = store // before a crash, because the end of a crash waits for uses
	if err == nil {
		err = store.Recover(context.Background())
	}
	switch {
	case p.isEnded():
	case err != nil:
		n.fault("the node does not start: %v", err)
		p.crash(100)
	default:
		n.history.recovered(store, mayLose)
		clock.last.Store(int64(store.Engine().Now())) // as the server does, in case the clock was set back
		n.mu.Lock()
		n.mayLose = math.MaxInt64
		n.mu.Unlock()
		p.ready.Store(true)
	}
}

// beforeAppend is for Options.beforeAppend.
func (p *simProcess) beforeAppend(log string, index uint64, entry []byte) {
	p.mu.Lock()
	crashed := p.crashed
	p.mu.Unlock()
	if crashed {
		return
	}
	p.on.history.appending(log, index, entry)
	if slow := p.on.plan.slow; slow > 0 {
		time.Sleep(p.on.between(0, slow))
	}
}

func (p *simProcess) isEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// use reports whether the process runs. Then the caller must call uses.Done.
func (p *simProcess) use() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || !p.ready.Load() {
		return false
	}
	p.uses.Add(1)
	return true
}

// with calls do with the Store of the running process, and reports whether a process runs.
func (n *simNode) with(do func(*Store)) bool {
	p := n.running()
	if !p.use() {
		return false
	}
	defer p.uses.Done()
	do(p.store)
	return true
}

// finish ends the process for its clients, and reports whether it had not ended before.
func (p *simProcess) finish(crashed bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended, p.crashed = true, crashed
	close(p.gone)
	return true
}

// crash ends a process at once: with 100, alone; with less, together with the machine: then
// that percentage of unsynced data is on disk. A write of the process may call it.
func (p *simProcess) crash(percent int) {
	if !p.finish(true) {
		return
	}
	n := p.on
	n.mu.Lock()
	old := n.disk
	n.disk, n.process = old.Crashed(percent, n.rng), nil
	n.mayLose = min(n.mayLose, n.mayLoseSince(percent))
	if n.plan.policy != Always {
		n.keys.Retire() // the answers about them may be lost
	}
	n.mu.Unlock()
	old.Fault.SetHang(false)
	n.wait.Go(func() {
		p.uses.Wait()
		if p.store != nil {
			_ = p.store.Close(context.Background(), SaveNever) // it is another disk
		}
	})
}

// A power failure loses the decisions of up to simLoses under EverySecond.
const simLoses = time.Second

// mayLoseSince returns since when answered decisions may be lost in a crash now. Requires:
// mu is held.
func (n *simNode) mayLoseSince(percent int) time.Duration {
	since := time.Duration(math.MaxInt64)
	switch {
	case n.plan.policy == Always:
		return since
	case n.broken:
		since = n.brokenAt
	case percent < 100:
		since = time.Since(n.history.Start)
	}
	switch {
	case percent == 100:
		return since
	case n.plan.policy == Never:
		return 0
	}
	return since - simLoses - n.plan.slow
}

// stop ends a process cleanly, unless its disk may hang.
func (p *simProcess) stop(parting Parting) {
	n := p.on
	if n.isBroken() {
		p.crash(100)
		return
	}
	if !p.finish(false) {
		return
	}
	p.uses.Wait()
	if err := p.store.Close(context.Background(), parting); err != nil {
		n.fault("the node does not end in good order: %v", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process = nil
}
