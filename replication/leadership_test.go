package replication

import (
	"testing"
	"time"
)

// Leaders fail under the default timeouts: the next decision is made within two seconds,
// and sooner after a process has ended.
func TestSimFailover(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(c *simCluster, leader *simNode)
		most time.Duration
	}{
		{"its process is killed", func(_ *simCluster, n *simNode) { n.running().crash(100) }, 600 * time.Millisecond},
		{"its machine crashes", func(_ *simCluster, n *simNode) { n.running().crash(50) }, 2 * time.Second},
		{"it is cut off", func(c *simCluster, n *simNode) { c.cutOff(n) }, 2 * time.Second},
		{"its messages are lost", func(c *simCluster, n *simNode) { c.cutOneWay(n, true) }, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := simCasePlan
			plan.busyGap = 50 * time.Millisecond
			simCaseOf(t, plan, func(t *testing.T, c *simCluster) {
				for range 20 {
					time.Sleep(c.between(0, 5*time.Second))
					leader := c.leader()
					if leader == nil {
						t.Fatal("there is no leader")
					}
					tt.fail(c, leader)
					var healthy []*simProcess
					for _, n := range c.running() {
						if n != leader {
							healthy = append(healthy, n.running())
						}
					}
					c.probe(tt.name, healthy)
					if took := c.stats.failover[len(c.stats.failover)-1]; took > tt.most {
						t.Errorf("it took %v until the next decision, at most %v are allowed", took, tt.most)
						return
					}
					c.converge(tt.name)
					c.setClients(true, false)
				}
			})
		})
	}
}

// Two followers lose the leader at different times: the preferred candidate is not delayed
// by its first, failed attempt.
func TestSimFailoverStaggered(t *testing.T) {
	const most = 1650 * time.Millisecond
	simCase(t, func(t *testing.T, c *simCluster) {
		for apart := time.Duration(0); apart < 300*time.Millisecond; apart += 10 * time.Millisecond {
			c.setClients(false, true)
			time.Sleep(time.Second)
			leader := c.leader()
			if leader == nil {
				t.Fatal("there is no leader")
			}
			first, second := c.followersOf(leader)
			c.net.setCut(leader.name, first.name, true)
			time.Sleep(apart)
			from := time.Now()
			c.cutOff(leader)
			for !first.running().leadership().leading && !second.running().leadership().leading {
				if time.Sleep(time.Millisecond); time.Since(from) > 10*time.Second {
					t.Fatal("there is no leader")
				}
			}
			if took := time.Since(from); took > most {
				t.Errorf("%v apart: it took %v until the next leader, at most %v are allowed", apart, took, most)
			}
			c.converge("a leader that is cut off")
		}
	})
}

// followersOf returns the other two of three nodes; first wins an election if both have
// the same log.
func (c *simCluster) followersOf(leader *simNode) (first, second *simNode) {
	id := func(n *simNode) string { return n.running().node.identity().Node }
	for _, n := range c.all() {
		switch {
		case n == leader:
		case first == nil:
			first = n
		default:
			second = n
		}
	}
	if id(second) < id(first) {
		return second, first
	}
	return first, second
}

// The leader is isolated for a second, as without a processor, or all of its links break:
// it keeps leading.
func TestSimStarvedLeader(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		leader := c.leader()
		term := leader.running().leadership().term
		for i := range 60 {
			time.Sleep(c.between(0, 3*time.Second))
			if i%2 == 0 {
				c.cutOff(leader)
				time.Sleep(time.Second)
			} else {
				for _, other := range c.all() {
					c.net.reset(leader.name, other.name)
				}
			}
			c.net.repair(simNames(c.all()))
			time.Sleep(time.Second)
			if o := leader.running().leadership(); !o.leading || o.term != term {
				t.Fatalf("after %d times it leads: %v, in term %d, and had in term %d", i+1, o.leading, o.term, term)
			}
		}
	})
}

// Two of four nodes wait for a third, which lacks entries, and with it elect a leader:
// their elections do not split the votes for ever. Without random pauses they do so in one
// of about a hundred rounds, when both try at the same time.
func TestSimElectionsSplit(t *testing.T) {
	for seed := range uint64(5) {
		plan := simCasePlan
		plan.seed, plan.busyGap = seed+1, 10*time.Millisecond
		simCaseOf(t, plan, func(t *testing.T, c *simCluster) {
			c.join()
			c.converge("a join")
			for range 80 {
				if c.electAfterSplit(t); t.Failed() {
					return
				}
			}
		})
	}
}

// electAfterSplit isolates a follower, which then misses some calls, and the leader; lets
// the remaining two nodes fail to elect a leader; and measures how long they take to elect
// a leader once they hear the follower.
func (c *simCluster) electAfterSplit(t *testing.T) {
	leader := c.leader()
	c.withFollower(c.cutOff)
	c.setClients(true, false)
	time.Sleep(c.between(100*time.Millisecond, time.Second))
	c.setClients(false, true)
	for _, n := range c.all() {
		for _, other := range c.all() {
			c.net.setExtra(n.name, other.name, c.between(0, 3*time.Millisecond))
		}
	}
	time.Sleep(time.Second)
	c.cutOff(leader)
	time.Sleep(c.between(2*time.Second, 6*time.Second))
	var heard []string
	for _, n := range c.all() {
		if n != leader {
			heard = append(heard, n.name)
		}
	}
	c.net.repair(heard)
	const most = time.Duration(simDecides * float64(defaultElectionTimeout))
	for from := time.Now(); c.leader() == nil || c.leader() == leader; time.Sleep(10 * time.Millisecond) {
		if time.Since(from) > most {
			t.Errorf("there is no leader after %v", most)
			return
		}
	}
	c.converge("split elections")
}
