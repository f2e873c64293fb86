package replication

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/replication/election"
)

// Looks at a leader that is replaced, while it may take itself for the leader and while clocks
// run at different speeds: history.check puts all answers about a counter into an order.
func TestSimLooks(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(c *simCluster, leader *simNode)
	}{
		{"it is cut off", func(c *simCluster, n *simNode) { c.cutOff(n) }},
		{"its messages are lost", func(c *simCluster, n *simNode) { c.cutOneWay(n, true) }},
		{"another node is to lead", func(c *simCluster, _ *simNode) { c.transfer() }},
		{"another node is to lead, and it hears nothing from then on", func(c *simCluster, n *simNode) {
			c.transfer()
			time.Sleep(c.between(0, 12*time.Millisecond))
			c.cutOneWay(n, false)
		}},
		{"it seems to have ended", (*simCluster).closeOff},
		{"it is cut off, and a follower starts anew", func(c *simCluster, n *simNode) {
			c.cutOff(n)
			c.withFollower(func(f *simNode) {
				f.running().crash(100)
				f.start()
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			looks := simLeaderFails(t, tt.name, 20, tt.fail, func(c *simCluster, round int, leader *simNode, fail func()) int {
				return c.lookDuring(fmt.Sprint("counter:look:", round), leader, fail)
			})
			if looks < 20*5 {
				t.Errorf("the leaders answered %d looks", looks)
			}
		})
	}
}

// simLeaderFails has the leader fail in each of some rounds, in a cluster whose clocks of leases run
// at different speeds. during makes requests and calls fail. It returns the sum of its results.
func simLeaderFails(t *testing.T, name string, rounds int, fail func(*simCluster, *simNode),
	during func(c *simCluster, round int, leader *simNode, fail func()) int) (sum int) {
	plan := simCasePlan
	plan.drift = simDrift
	plan.leaderLease, _ = election.RaftTimeouts(plan.election)
	simCaseOf(t, plan, func(t *testing.T, c *simCluster) {
		for round := range rounds {
			leader := c.leader()
			if leader == nil {
				t.Fatal("there is no leader")
			}
			sum += during(c, round, leader, func() { fail(c, leader) })
			c.converge(name)
		}
	})
	return sum
}

// closeOff breaks all connections of a node, which then accepts no new connections.
func (c *simCluster) closeOff(n *simNode) {
	c.net.setListening(n.address(), false)
	for _, other := range c.all() {
		c.net.reset(n.name, other.name)
	}
}

// lookDuring has clients look at a counter at the leader, and other clients count it up at the
// other nodes, before and after the leader fails. It returns the number of looks that were
// answered.
func (c *simCluster) lookDuring(key string, leader *simNode, fail func()) (answered int) {
	ask := func(n *simNode, permits int64) bool {
		p := n.running()
		if p == nil {
			return false
		}
		params := engine.Params{Alg: engine.Fixed, Limit: 100, Period: simtest.Forever}
		call := p.ask(simtest.Request{Ops: []engine.Op{{Key: []byte(key), N: permits, Params: params}}})
		return call.Outcome == simtest.Answered
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	over := time.Now().Add(3 * c.plan.election)
	for _, n := range c.members() {
		clients.Go(func() {
			for time.Now().Before(over) {
				if n == leader {
					if ask(n, 0) {
						mu.Lock()
						answered++
						mu.Unlock()
					}
					time.Sleep(c.between(0, 2*c.plan.election/20))
				} else {
					ask(n, 1)
					time.Sleep(c.between(0, c.plan.election/4))
				}
			}
		})
	}
	time.Sleep(c.between(0, c.plan.election/2))
	fail()
	clients.Wait()
	return answered
}
