package replication

import (
	"slices"
	"syscall"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// A simTrouble is a temporary disturbance. do returns false if it is not possible now.
type simTrouble struct {
	name string
	odds int
	do   func(c *simCluster) bool
}

var simTroubles = []simTrouble{
	{"the leader is cut off", 4, func(c *simCluster) bool { return c.withLeader(c.cutOff) }},
	{"a follower is cut off", 2, func(c *simCluster) bool { return c.withFollower(c.cutOff) }},
	{"the leader's messages are lost", 3,
		func(c *simCluster) bool { return c.withLeader(func(n *simNode) { c.cutOneWay(n, true) }) }},
	{"messages to the leader are lost", 3,
		func(c *simCluster) bool { return c.withLeader(func(n *simNode) { c.cutOneWay(n, false) }) }},
	{"a follower's messages are lost", 2,
		func(c *simCluster) bool { return c.withFollower(func(n *simNode) { c.cutOneWay(n, true) }) }},
	{"messages to a follower are lost", 2,
		func(c *simCluster) bool { return c.withFollower(func(n *simNode) { c.cutOneWay(n, false) }) }},
	{"random directions are cut", 4, (*simCluster).cutSome},
	{"all are by themselves", 1, (*simCluster).cutAll},
	{"connections break", 3, (*simCluster).resetSome},
	{"the network is slow", 2, (*simCluster).slowDown},
	{"a listener is closed", 2, func(c *simCluster) bool {
		return c.withAny(func(n *simNode) { c.net.setListening(n.address(), false) })
	}},
	{"the leader crashes", 4, func(c *simCluster) bool { return c.withLeader(c.crash) }},
	{"a follower crashes", 3, func(c *simCluster) bool { return c.withFollower(c.crash) }},
	{"two crash", 2, func(c *simCluster) bool { return c.withLeader(c.crash) && c.withFollower(c.crash) }},
	{"all crash", 2, (*simCluster).crashAll},
	{"a node restarts in good order", 2, func(c *simCluster) bool {
		return c.withAny(func(n *simNode) {
			if p := n.running(); p != nil {
				p.stop()
			}
		})
	}},
	{"a clock jumps", 3, (*simCluster).stepClock},
	{"a disk fails", 2, func(c *simCluster) bool { return c.withAny(func(n *simNode) { c.failDisk(n, syscall.EIO) }) }},
	{"the leader's disk fails", 2,
		func(c *simCluster) bool { return c.withLeader(func(n *simNode) { c.failDisk(n, syscall.EIO) }) }},
	{"a disk is full", 1, func(c *simCluster) bool {
		return c.withAny(func(n *simNode) {
			c.failDisk(n,
				syscall.ENOSPC)
		})
	}},
	{"a disk hangs", 2, func(c *simCluster) bool { return c.withAny(c.hangDisk) }},
	{"the leader's disk hangs", 2, func(c *simCluster) bool { return c.withLeader(c.hangDisk) }},
	{"a snapshot is taken", 3, (*simCluster).saveSome},
	{"a follower is down for long", 1, (*simCluster).outlastLog},
	{"another node is to lead", 3, (*simCluster).transfer},
	{"memory is short", 2, (*simCluster).limitMemory},
	{"a node joins", 1, (*simCluster).join},
	{"a node is removed", 1, (*simCluster).forget},
	{"a node has lost its disk", 1, (*simCluster).wipe},
}

// pick selects a trouble by its odds.
func (c *simCluster) pick() simTrouble {
	return simtest.Pick(simTroubles, func(t simTrouble) int { return t.odds }, c.intN)
}

// leader returns the leading node, nil if no node leads.
func (c *simCluster) leader() *simNode {
	for _, n := range c.all() {
		if p := n.running(); p != nil && p.leads() {
			return n
		}
	}
	return nil
}

func (c *simCluster) withLeader(do func(*simNode)) bool {
	n := c.leader()
	if n != nil {
		do(n)
	}
	return n != nil
}

func (c *simCluster) withFollower(do func(*simNode)) bool {
	leader := c.leader()
	var others []*simNode
	for _, n := range c.members() {
		if n != leader && n.running() != nil {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return false
	}
	do(others[c.intN(len(others))])
	return true
}

func (c *simCluster) withAny(do func(*simNode)) bool {
	members := c.members()
	do(members[c.intN(len(members))])
	return true
}

func (c *simCluster) cutOff(n *simNode) {
	c.cutOneWay(n, true)
	c.cutOneWay(n, false)
}

func (c *simCluster) cutOneWay(n *simNode, from bool) {
	for _, other := range c.all() {
		if from {
			c.net.setCut(n.name, other.name, true)
		} else {
			c.net.setCut(other.name, n.name, true)
		}
	}
}

func (c *simCluster) cutSome() bool {
	for _, from := range c.all() {
		for _, to := range c.all() {
			if c.intN(3) == 0 {
				c.net.setCut(from.name, to.name, true)
			}
		}
	}
	return true
}

func (c *simCluster) cutAll() bool {
	for _, n := range c.all() {
		c.cutOff(n)
	}
	return true
}

func (c *simCluster) resetSome() bool {
	for range 1 + c.intN(5) {
		c.withAny(func(a *simNode) { c.withAny(func(b *simNode) { c.net.reset(a.name, b.name) }) })
		time.Sleep(c.between(0, 200*time.Millisecond))
	}
	return true
}

// slowDown makes some directions take up to an eighth of the election timeout.
func (c *simCluster) slowDown() bool {
	for _, from := range c.all() {
		for _, to := range c.all() {
			if c.intN(2) == 0 {
				c.net.setExtra(from.name, to.name, c.between(0, c.plan.election/8))
			}
		}
	}
	return true
}

// crash ends a process, or its machine. If decisions need not be on disk, only one machine
// may crash until all is repaired.
func (c *simCluster) crash(n *simNode) {
	percent := []int{100, 50, 0}[c.intN(3)]
	if c.plan.ack == AckMemory && percent < 100 && !c.mayLose() {
		percent = 100
	}
	if p := n.running(); p != nil {
		p.crash(percent)
	}
}

// mayLose reports whether a node's state may be lost now, and records that it will be.
func (c *simCluster) mayLose() bool {
	if c.losing || c.healthy() == nil || len(c.running()) < len(c.members()) {
		return false
	}
	c.losing = true
	return true
}

// running returns the running members.
func (c *simCluster) running() []*simNode {
	return slices.DeleteFunc(c.members(), func(n *simNode) bool { return n.running() == nil })
}

func (c *simCluster) crashAll() bool {
	for _, n := range c.all() {
		c.crash(n)
	}
	return true
}

// stepClock sets the clock of a node, while the clocks of a majority stay right.
func (c *simCluster) stepClock() bool {
	for _, n := range c.all() {
		n.clock.Set(0, 1)
	}
	return c.withAny(func(n *simNode) {
		off := c.between(0, 2*time.Hour) - time.Hour
		n.clock.Set(off, 1+float64(c.intN(200)-100)/1000)
	})
}

func (c *simCluster) failDisk(n *simNode, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = true
	n.disk.Fault.FailWrites(c.intN(20), err)
}

func (c *simCluster) hangDisk(n *simNode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = true
	n.disk.Fault.SetHang(true)
}

func (c *simCluster) saveSome() bool {
	return c.withAny(func(n *simNode) {
		if p := n.running(); p != nil {
			p.node.Save(func(error) {})
		}
	})
}

// outlastLog stops a node until so much is decided that other nodes may have dropped the
// entries it lacks.
func (c *simCluster) outlastLog() bool {
	if !c.withFollower(c.crash) {
		return false
	}
	time.Sleep(c.between(10*time.Second, 90*time.Second))
	return true
}

func (c *simCluster) transfer() bool {
	return c.change(Change{Kind: Transfer})
}

// change has any node make a change, which may fail.
func (c *simCluster) change(change Change) bool {
	nodes := c.running()
	if len(nodes) == 0 {
		return false
	}
	p := nodes[c.intN(len(nodes))].running()
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.ended {
		p.node.Change(change, func(error) {})
	}
	return !p.ended
}

// simMembers bounds the members of a cluster.
const simMembers = 4

func (c *simCluster) join() bool {
	if len(c.members()) == simMembers {
		return false
	}
	c.changing = true
	c.addNode().start()
	return true
}

// forget removes a member, and retries until it is removed.
func (c *simCluster) forget() bool {
	members := c.members()
	if len(members) == simFounders || c.losing {
		return false
	}
	c.changing, c.losing = true, true
	n := members[c.intN(len(members))]
	n.mu.Lock()
	n.removed = true
	n.mu.Unlock()
	return c.change(Change{Kind: Forget, Node: n.address()})
}

// wipe starts a node with an empty disk.
func (c *simCluster) wipe() bool {
	return c.mayLose() && c.withAny(func(n *simNode) {
		c.changing = true
		n.running().crash(0)
		n.mu.Lock()
		n.disk = newSimDisk()
		n.mu.Unlock()
	})
}

// limitMemory makes nodes refuse or evict keys.
func (c *simCluster) limitMemory() bool {
	return c.withLeader(func(n *simNode) {
		used := n.running().node.Engine().MemoryBytes()
		evict := c.intN(2) == 0
		bound := max(1, used*int64(c.intN(5))/4)
		c.setBound(bound, evict)
		if bound == 1 && !evict {
			c.addKey(n.running())
		}
	})
}

// addKey takes from a new key without memory for it.
func (c *simCluster) addKey(p *simProcess) {
	c.mu.Lock()
	key := c.keys.NewKey()
	c.mu.Unlock()
	call := p.ask(simtest.Request{Ops: []engine.Op{{Key: key, N: 1, Params: simtest.Limits[2]}}})
	if call.Outcome == simtest.Answered && call.Decisions[0].Status != engine.NoMemory {
		c.fault("call %d was answered %+v, and there was no memory for it", call.Number, call.Decisions[0])
	}
}

func (c *simCluster) setBound(bound int64, evict bool) {
	if evict {
		c.history.Mu.Lock()
		c.history.Bounded = true
		c.history.Mu.Unlock()
	}
	c.mu.Lock()
	c.bound, c.evict = bound, evict
	c.mu.Unlock()
	for _, n := range c.all() {
		if p := n.running(); p != nil {
			p.node.SetBound(bound, evict)
		}
	}
}

// repair ends all troubles: all members run again, and reach each other.
func (c *simCluster) repair() {
	c.setBound(0, false)
	nodes := c.all()
	c.net.repair(simNames(nodes))
	for _, n := range nodes {
		c.net.setListening(n.address(), true)
		n.repair()
	}
}

func (n *simNode) repair() {
	n.mu.Lock()
	fault, broken, removed := n.disk.Fault, n.broken, n.removed
	p := n.process
	n.mu.Unlock()
	fault.SetHang(false)
	fault.FailWrites(0, nil)
	if broken && p != nil {
		p.crash(100) // the machine is restarted when its disk has been replaced
	}
	n.mu.Lock()
	n.broken = false
	n.mu.Unlock()
	if !removed {
		n.start()
	}
}
