package replication

import (
	"io"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/lease"
)

// simCasePlan is the plan of simCase.
var simCasePlan = simPlan{
	seed: 1, election: defaultElectionTimeout, logBytes: 64 << 10, idleGap: time.Second, busyGap: time.Second,
}

// simCase runs a case on a cluster of three, without other troubles.
func simCase(t *testing.T, do func(t *testing.T, c *simCluster)) { simCaseOf(t, simCasePlan, do) }

func simCaseOf(t *testing.T, plan simPlan, do func(t *testing.T, c *simCluster)) {
	testwait.Long(t)
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(plan)
		c.begin()
		c.setClients(true, false)
		do(t, c)
		output := c.logs.Last()
		for _, fault := range c.end() {
			t.Error(fault)
		}
		if t.Failed() {
			t.Logf("last log lines of the nodes:\n%s", output)
		}
	})
}

// A joining node has a disk that fails at some write: it ends, does not ask again and
// again, and is a member after a restart.
func TestSimJoinFails(t *testing.T) {
	for writes := 0; writes < 40; writes += 3 {
		simCase(t, func(t *testing.T, c *simCluster) {
			n := c.addNode()
			n.broken = true
			n.disk.Fault.FailWrites(writes, syscall.EIO)
			n.start()
			time.Sleep(10 * time.Second)
			if joins := c.logs.Count("a node joins the cluster"); joins > 1 {
				t.Errorf("with a disk that fails after %d writes the node joined %d times", writes, joins)
			}
			c.converge("a join that failed")
		})
	}
}

// A follower gets a snapshot of entries it has applied: the leader is told that it was
// installed, and the follower is unchanged.
func TestSimOldSnapshot(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		leader := c.leader().running().node.stack.Load()
		if err := leader.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // clients run
		c.converge("some calls")
		all, err := leader.Snapshots.List()
		if err != nil || len(all) != 1 {
			t.Fatalf("the leader has %d snapshots, %v", len(all), err)
		}
		c.withFollower(func(n *simNode) {
			follower := n.running().node.stack.Load()
			first, _ := follower.Entries.FirstIndex()
			index := follower.raft.AppliedIndex()
			for _, last := range []uint64{all[0].Index, index} {
				meta, from, err := leader.Snapshots.Open(all[0].ID)
				if err != nil {
					t.Fatal(err)
				}
				r, err := sendSnapshot(leader, n.running().node, last, meta, from)
				if !r.Success || r.Term != leader.raft.CurrentTerm() || err != nil {
					t.Errorf("of entry %d: success %v in term %d, %v", last, r.Success, r.Term, err)
				}
				after, _ := follower.Entries.FirstIndex()
				kept, err := follower.Snapshots.List()
				if after != first || follower.raft.AppliedIndex() < index || len(kept) > 0 || err != nil {
					t.Errorf("of entry %d: the follower's first entry was %d and is %d, its last applied entry was %d and is %d, "+
						"and it keeps %d snapshots, %v",
						last, first, after, index, follower.raft.AppliedIndex(), len(kept), err)
				}
			}
		})
		c.setClients(true, false)
		time.Sleep(10 * time.Second)
		c.converge("the snapshots")
	})
}

// sendSnapshot sends a snapshot up to an entry as the leader would.
func sendSnapshot(leader *raftStack, follower *Node, last uint64, meta *raft.SnapshotMeta,
	data io.Reader) (r raft.InstallSnapshotResponse, err error) {
	self, id := leader.raft.LeaderWithID()
	err = leader.transport.InstallSnapshot(raft.ServerID(follower.identity().Node), raft.ServerAddress(follower.o.Raft),
		&raft.InstallSnapshotRequest{
			RPCHeader:       raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(self)},
			SnapshotVersion: meta.Version, Term: leader.raft.CurrentTerm(), LastLogIndex: last, LastLogTerm: meta.Term,
			Size:          meta.Size,
			Configuration: raft.EncodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex,
		}, &r, data)
	return r, err
}

// A disk hangs: the process ends, sooner if the node leads.
func TestSimDiskHangs(t *testing.T) {
	for _, tt := range []struct {
		leads       bool
		least, most time.Duration // a hang is unnoticed until something is written
	}{{true, time.Second, 4 * time.Second}, {false, 30 * time.Second, 35 * time.Second}} {
		simCase(t, func(t *testing.T, c *simCluster) {
			n := c.leader()
			if !tt.leads {
				all := c.all()
				n = all[(slices.Index(all, n)+1)%len(all)]
			}
			p, began := n.running(), time.Now()
			c.hangDisk(n)
			select {
			case <-p.gone:
			case <-time.After(2 * tt.most):
			}
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("leads %v: it ended after %v, want %v to %v", tt.leads, took, tt.least, tt.most)
			}
			c.converge("a disk that hung")
		})
	}
}

// A node that lost an election which it began without a pre-vote is removed before it is a
// follower again: it learns of its removal and ends.
func TestSimRemovedCandidate(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		for range 20 {
			c.join()
			c.converge("a join")
			leader := c.leader()
			var others []*simNode
			for _, n := range c.members() {
				if n != leader {
					others = append(others, n)
				}
			}
			c.cutOneWay(leader, true)
			_, promise := lease.Times(c.plan.election)
			time.Sleep(promise)
			for _, n := range others[:2] {
				node := n.running().node
				c.wait.Go(func() { node.elect(node.stack.Load()) })
			}
			c.net.repair(simNames(c.all()))
			time.Sleep(c.plan.election / 10)
			for _, n := range others[:2] {
				p := n.running()
				r := p.node.stack.Load().raft
				if address, _ := r.LeaderWithID(); r.State() != raft.Candidate || address == "" {
					continue
				}
				c.changing = true
				n.mu.Lock()
				n.removed = true
				n.mu.Unlock()
				c.leader().running().node.Change(Change{Kind: Forget, Node: n.address()}, func(error) {})
				select {
				case <-p.gone:
				case <-time.After(15 * time.Second):
					t.Errorf("%s was removed 15 s ago and still runs", n.name)
				}
				return
			}
		}
		t.Error("no node was a candidate that knows the leader")
	})
}

// A silent member is removed if the cluster is safe without it.
func TestSimRemovesDead(t *testing.T) {
	plan := simCasePlan
	plan.dead = 20 * time.Second
	simCaseOf(t, plan, func(t *testing.T, c *simCluster) {
		members := func() int { return len(serversOf(c.leader().running().node.stack.Load().raft)) }
		c.withFollower(c.crash)
		time.Sleep(3 * plan.dead)
		if got := members(); got != simFounders {
			t.Errorf("%d members, want %d: one of three was removed", got, simFounders)
		}
		c.converge("a silent member")
		c.join()
		c.converge("a join")
		var silent *simNode
		c.withFollower(func(n *simNode) {
			silent = n
			n.running().crash(100)
		})
		time.Sleep(plan.dead * 3 / 4)
		if got := members(); got != simFounders+1 {
			t.Errorf("after %v %d members, want %d", plan.dead*3/4, got, simFounders+1)
		}
		time.Sleep(plan.dead * 3 / 4)
		if got := members(); got != simFounders {
			t.Errorf("after %v %d members, want %d", plan.dead*3/2, got, simFounders)
		}
		silent.mu.Lock()
		silent.removed = true
		silent.mu.Unlock()
		c.converge("a member that was removed")
	})
}

// A leader has a clock far ahead, and its calls to the other nodes fail: the cluster's time
// gains no more than it may.
func TestSimClockAlone(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		leader := c.leader()
		leader.clock.Set(time.Hour, 1)
		for _, n := range c.all() {
			if n != leader {
				c.net.setListening(n.address(), false)
			}
		}
		time.Sleep(time.Minute) // watchClocks checks
		if c.leader() != leader {
			t.Error("it leads no more: nothing is tested")
		}
	})
}

// The leader's clock is set an hour ahead and back repeatedly, also during polls of the
// other clocks.
func TestSimClockSet(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		leader := c.leader()
		for i := range 10_000 {
			leader.clock.Set(time.Duration(i%2)*time.Hour, 1)
			time.Sleep(time.Duration(1+i%7) * time.Millisecond) // watchClocks checks
		}
		leader.clock.Set(0, 1)
	})
}

// A joining node has a disk that hangs at some moment: it keeps answering other nodes, and
// is a member after its disk was replaced.
func TestSimJoinHangs(t *testing.T) {
	for after := time.Duration(0); after < 30*time.Millisecond; after += time.Millisecond {
		simCase(t, func(t *testing.T, c *simCluster) {
			n := c.addNode()
			n.start()
			time.Sleep(after)
			c.hangDisk(n)
			time.Sleep(10 * time.Second)
			p := n.running()
			var hello helloReply
			if err := c.leader().running().node.ask(n.address(), callHello, struct{}{}, &hello); err != nil {
				t.Errorf("hung after %v: %v", after, err)
			}
			if p != n.running() {
				t.Errorf("hung after %v: it ended within 10 s", after)
			}
			c.converge("a join that hung")
		})
	}
}

// waitForElected returns the next node that is elected, which need not decide yet.
func (c *simCluster) waitForElected() *simNode {
	for {
		time.Sleep(50 * time.Microsecond)
		for _, n := range c.running() {
			if n.running().leadership().elected {
				return n
			}
		}
	}
}

// An elected node that has not applied all answered decisions, and can not log, does not
// answer reads.
func TestSimElectedBeforeReady(t *testing.T) {
	plan := simCasePlan
	plan.commit = 5 * time.Second // followers apply nothing meanwhile
	simCaseOf(t, plan, func(t *testing.T, c *simCluster) {
		c.setClients(false, true)
		take := engine.Op{Key: []byte("k"), N: 1, Params: engine.Params{Alg: engine.Fixed, Limit: 3, Period: simtest.Forever}}
		look := take
		look.N = 0
		p := c.leader().running()
		if got := p.ask(simtest.Request{Ops: []engine.Op{take}}).Outcome; got != simtest.Answered {
			t.Fatalf("a take is %s", got)
		}
		p.crash(100)
		elected := c.waitForElected()
		for _, n := range c.running() {
			if n != elected {
				c.hangDisk(n)
			}
		}
		for range 15 {
			c.wait.Go(func() { elected.running().ask(simtest.Request{Ops: []engine.Op{look}}) })
			time.Sleep(10 * time.Millisecond)
		}
		c.converge("an election")
	})
}

// An elected node loses the other nodes before they have told it their clocks. Meanwhile it
// keeps the leadership: the cluster's time continues from the last stamp.
func TestSimElectedWithoutClocks(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		for round := range 40 {
			c.leader().running().crash(100)
			elected := c.waitForElected()
			time.Sleep(time.Duration(round) * 100 * time.Microsecond)
			c.cutOff(elected)
			time.Sleep(defaultElectionTimeout + 50*time.Millisecond)
			c.converge("an election without clocks")
			c.setClients(true, false)
			time.Sleep(100 * time.Millisecond)
		}
		if c.logs.Count(textTimeByStamp) == 0 {
			t.Error("each elected node got the clocks of a majority: less is tested")
		}
	})
}
