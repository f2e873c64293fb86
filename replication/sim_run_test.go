package replication

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/election"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
	"limitsrv/replication/undecided"
)

var simFlags = simtest.NewFlags()

// TestSim runs clusters of three and more nodes through troubles of every kind, in virtual
// time, and compares the clients' answers with the nodes' logs.
func TestSim(t *testing.T) {
	testwait.Long(t)
	simFlags.Run(t, simulate)
}

// simulate does one run. The seed determines the plan and the troubles, but not the order
// of the goroutines.
func simulate(t *testing.T, seed uint64, length time.Duration) {
	began := time.Now()
	var c *simCluster
	synctest.Test(t, func(t *testing.T) {
		c = newSimCluster(planOf(seed, length))
		faults, output := c.run()
		for _, fault := range faults {
			t.Error(fault)
		}
		if len(faults) > 0 {
			t.Logf("last log lines of the nodes:\n%s", output)
		}
	})
	speed := length.Seconds() / time.Since(began).Seconds()
	t.Logf("%v\n%s\n%.0f times as fast as time; again: -run TestSim -sim-seed %d", &c.plan, c.summary(), speed, seed)
}

func planOf(seed uint64, length time.Duration) simPlan {
	rng := rand.New(rand.NewPCG(seed, 2))
	p := simPlan{
		seed: seed, length: length,
		election: []time.Duration{300 * time.Millisecond, time.Second, time.Second}[rng.IntN(3)],
		ack:      []Ack{AckDisk, AckMemory}[rng.IntN(2)],
		fsync:    []persist.Policy{persist.EverySecond, persist.Never}[rng.IntN(2)],
		logBytes: []int64{16 << 10, 64 << 10, 1 << 20}[rng.IntN(3)],
		noQuorum: []NoQuorum{undecided.Error, undecided.Allow, undecided.Deny, undecided.Local}[rng.IntN(4)],
		idleGap:  10 * time.Second, busyGap: 300 * time.Millisecond,
	}
	if rng.IntN(4) > 0 { // fewer messages, and followers that lag more
		p.commit = p.election / 2
	}
	if rng.IntN(3) == 0 {
		p.upgrade = []int{1, fsm.KnownLevel - 1}[rng.IntN(2)]
	}
	if rng.IntN(2) == 0 { // as long as raft permits
		p.leaderLease, _ = election.RaftTimeouts(p.election)
	}
	p.drift = float64(rng.IntN(3)) * simDrift / 2
	return p
}

// simDrift is the largest simPlan.drift.
const simDrift = 0.1

func (p *simPlan) String() string {
	return fmt.Sprintf("%v, elections after %v, leaders without a majority for %v, clocks of leases %v off, commits "+
		"sent after %v, ack %v, fsync %v, snapshots after %d bytes, without a quorum %v, upgraded from level %v",
		p.length, p.election, p.leaderLease, p.drift, p.commit, p.ack, p.fsync, p.logBytes, p.noQuorum, p.upgrade)
}

// run performs the run and returns its faults.
func (c *simCluster) run() (faults []string, output string) {
	c.begin()
	for end := time.Now().Add(c.plan.length); time.Now().Before(end) && !c.history.Failed(); {
		c.round()
	}
	if !c.history.Failed() {
		c.askEverything()
	}
	output = c.logs.Last()
	return c.end(), output
}

// askEverything makes calls of everything that Apply knows, so that the nodes of each run
// apply it, and a follower that crashes then applies its log again.
func (c *simCluster) askEverything() {
	c.converge("all troubles")
	leader := c.leader()
	if leader == nil {
		return // converge has reported it
	}
	p := leader.running()
	c.mu.Lock()
	all := c.keys.Everything(c.rng)
	c.mu.Unlock()
	for _, next := range all {
		known := c.history.Known()
		c.mu.Lock()
		c.keys.Known = known
		r := next()
		c.mu.Unlock()
		p.ask(r)
	}
	p.transact()
	c.history.CheckAsked()
	c.withFollower(c.crash)
}

// begin starts all nodes and clients.
func (c *simCluster) begin() {
	for _, n := range c.all() {
		n.start()
	}
	c.converge("the start")
	if n := c.leader(); n != nil {
		c.history.setSeed(n.running().node.stack.Load().FSM.Seed())
	}
	c.wait.Go(c.watchClocks)
	for range simClients {
		c.wait.Go(c.client)
	}
	c.startFront()
}

// end stops all, and returns the faults.
func (c *simCluster) end() []string {
	defer c.net.close()
	close(c.ending)
	c.compare()
	for _, n := range c.all() {
		if p := n.running(); p != nil {
			p.stop()
		}
	}
	c.wait.Wait()
	if c.front != nil {
		c.front.close()
		if f := c.front; f.answers == 0 && f.calls > 20 {
			c.fault("the leader answered none of %d calls of the front's client", f.calls)
		}
	}
	return c.history.check()
}

// round is a quiet period, followed by troubles until all is repaired.
func (c *simCluster) round() {
	time.Sleep(c.between(0, 35*time.Second))
	c.setClients(true, false)
	names := ""
	for range 1 + c.intN(5)/4 {
		t := c.pick()
		if !t.do(c) {
			continue
		}
		names += t.name + "; "
		c.stats.troubles[t.name]++
		if healthy := c.healthy(); healthy != nil {
			c.probe(names, healthy)
		}
	}
	time.Sleep(c.between(0, 10*time.Second))
	c.converge(names)
	c.setClients(false, false)
}

// healthy returns the processes of a majority that reach each other and have working disks.
// It returns nil if there are too few, or if a process does not listen while another node
// is not well.
func (c *simCluster) healthy() (healthy []*simProcess) {
	members := c.members()
	if c.changing {
		return nil
	}
	for _, n := range members {
		p := n.running()
		if p == nil || n.isBroken() {
			continue
		}
		if !slices.ContainsFunc(healthy, func(q *simProcess) bool { return !c.net.reach(n.name, q.on.name) }) {
			healthy = append(healthy, p)
		}
	}
	deaf := slices.ContainsFunc(members, func(n *simNode) bool { return !c.net.listens(n.address()) })
	if len(healthy) <= len(members)/2 || deaf && len(healthy) < len(members) {
		return nil
	}
	return healthy
}

// listens reports whether an address accepts connections, if a process is there.
func (n *simNet) listens(address string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[address]
	return l == nil || !l.deaf
}

// reach reports whether two hosts hear each other.
func (n *simNet) reach(a, b string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.link(a, b).cut && !n.link(b, a).cut
}

const (
	// simDecides is the maximum time, in election timeouts, from the loss of the leader to
	// the next decision: two campaigns of raft, each within twice raft's timeout, because
	// the log of the first candidate may lack entries; and one timeout for the clocks of
	// the other nodes, because one of them may not answer. A leader that hears nothing,
	// while other nodes hear it, leads no longer than election's silentShare.
	simDecides = 2*2*election.RaftShare + 1
	// simDiskHang is added to that if the leader must first detect that its disk hangs.
	simDiskHang = storage.LeaderHang + 2*persist.WatchEvery
)

// probe calls processes of a majority until a process has an answer.
func (c *simCluster) probe(trouble string, healthy []*simProcess) {
	from := time.Now()
	limit := time.Duration(simDecides*float64(c.plan.election)) + simDiskHang
	var answered atomic.Bool
	for !answered.Load() && time.Since(from) < 2*limit {
		for _, p := range healthy {
			c.wait.Go(func() {
				op := engine.Op{Key: []byte("probe"), N: 1, Params: simtest.Limits[0]}
				if p.ask(simtest.Request{Ops: []engine.Op{op}}).Outcome == simtest.Answered {
					answered.Store(true)
				}
			})
		}
		time.Sleep(c.plan.election / 12)
	}
	took := time.Since(from)
	c.stats.failover = append(c.stats.failover, took)
	if took > limit {
		c.fault("after %s it took %v until the next decision, at most %v are allowed", trouble, took, limit)
	}
}

// simConvergeWithin bounds the time after repairs until each node has all entries.
const simConvergeWithin = 30 * time.Second

// converge repairs all, and waits until all members have applied the same entries.
func (c *simCluster) converge(after string) {
	c.repair()
	c.pauseClients()
	for from := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		why := c.whyNotConverged()
		if why == "" {
			c.changing, c.losing = false, false
			return
		}
		if time.Since(from) > simConvergeWithin {
			c.fault("%v after %s: %s", simConvergeWithin, after, why)
			return
		}
		c.repair() // a process may just have ended
	}
}

// whyNotConverged returns the reason that the members have not applied the same entries.
func (c *simCluster) whyNotConverged() string {
	leader := c.leader()
	if leader == nil {
		return "there is no leader"
	}
	at := leader.running().leadership()
	if at.stack == nil {
		return "the leader has ended"
	}
	for _, s := range at.stack.raft.GetConfiguration().Configuration().Servers {
		n := c.at(string(s.Address))
		switch {
		case n.isRemoved():
			c.change(Change{Kind: Forget, Node: string(s.ID)})
			return n.name + " is still a member"
		case s.Suffrage != raft.Voter:
			return n.name + " has no vote"
		}
	}
	last := at.stack.raft.LastIndex()
	for _, n := range c.all() {
		p := n.running()
		switch {
		case n.isRemoved() && p == nil:
			continue
		case n.isRemoved():
			return n.name + " still runs"
		case p == nil:
			return n.name + " does not run"
		}
		o := p.leadership()
		switch {
		case o.stack == nil:
			return n.name + " is not a member"
		case o.leader != at.leader:
			return fmt.Sprintf("%s has leader %q, %s is", n.name, o.leader.Raft, leader.name)
		case o.stack.raft.AppliedIndex() != last:
			return fmt.Sprintf("%s has applied entry %d, %s leads and has %d", n.name, o.stack.raft.AppliedIndex(), leader.name,
				last)
		}
	}
	return ""
}

// at returns the node at an address.
func (c *simCluster) at(address string) *simNode {
	all := c.all()
	return all[slices.IndexFunc(all, func(n *simNode) bool { return n.address() == address })]
}

func (p *simProcess) leads() bool { return p.leadership().leading }

// leadership returns the node's role, or the zero value when the process has ended.
func (p *simProcess) leadership() (o leadership) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.ended {
		o = p.node.leadership()
	}
	return o
}

// compare converges, and compares the states of the members.
func (c *simCluster) compare() {
	c.converge("the end")
	for range 100 {
		digests, same := map[uint64]string{}, true
		first := uint64(0)
		for i, n := range c.members() {
			p := n.running()
			if p == nil {
				return // converge has reported it
			}
			index, digest := p.node.Digest()
			if i == 0 {
				first = index
			}
			same = same && index == first
			digests[digest] += n.name + " "
		}
		if same {
			if len(digests) > 1 {
				c.fault("at entry %d the states differ: %v", first, digests)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.fault("the nodes do not come to the same entry")
}

func (c *simCluster) summary() string {
	slices.Sort(c.stats.failover)
	most := time.Duration(0)
	if n := len(c.stats.failover); n > 0 {
		most = c.stats.failover[n-1]
	}
	all := 0
	for _, n := range c.stats.troubles {
		all += n
	}
	told := 0
	if c.front != nil {
		told = c.front.checked
	}
	return fmt.Sprintf("%s; %d entries; %d nodes, %d troubles; %d told; at most %v until the next decision: %v; %v",
		c.history.Summary(), len(c.history.entries), len(c.nodes), all, told, most, c.stats.troubles, c.logs.Counts())
}
