package replication

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// A node whose Fresh succeeded has all changes that were answered before, at a leader that is
// replaced and at its followers.
func TestSimFresh(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(c *simCluster, leader *simNode)
	}{
		{"the leader is cut off", func(c *simCluster, n *simNode) { c.cutOff(n) }},
		{"the messages of the leader are lost", func(c *simCluster, n *simNode) { c.cutOneWay(n, true) }},
		{"another node is to lead", func(c *simCluster, _ *simNode) { c.transfer() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fresh := simLeaderFails(t, tt.name, 4, tt.fail, func(c *simCluster, round int, _ *simNode, fail func()) int {
				return c.freshDuring(t, fmt.Sprint("fresh:", round), fail)
			})
			if fresh < 40 {
				t.Errorf("Fresh succeeded %d times", fresh)
			}
		})
	}
}

// freshDuring counts a key up at all nodes and calls Fresh at all nodes, before and after a
// trouble. It returns how often Fresh succeeded.
func (c *simCluster) freshDuring(t *testing.T, key string, fail func()) (fresh int) {
	params := engine.Params{Alg: engine.Fixed, Limit: 1_000_000, Period: simtest.Forever}
	var (
		clients  sync.WaitGroup
		mu       sync.Mutex
		answered int64
	)
	over := time.Now().Add(3 * c.plan.election)
	for _, n := range c.members() {
		p := n.running()
		clients.Go(func() {
			for time.Now().Before(over) {
				call := p.ask(simtest.Request{Ops: []engine.Op{{Key: []byte(key), N: 1, Params: params}}})
				if call.Outcome == simtest.Answered {
					mu.Lock()
					answered++
					mu.Unlock()
				}
				time.Sleep(c.between(0, c.plan.election/4))
			}
		})
		clients.Go(func() {
			for time.Now().Before(over) {
				mu.Lock()
				least := answered
				mu.Unlock()
				done := make(chan error, 1)
				p.node.Fresh(func(err error) { done <- err })
				if <-done == nil {
					look := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte(key)}}}
					p.node.Engine().Look(p.node.Now(), &look)
					d := &look.Decisions[0]
					mu.Lock()
					fresh++
					if used := d.Params.Limit - d.Remaining; used < least {
						t.Errorf("%s at %s: %d of %d answered requests are counted", key, n.name, used, least)
					}
					mu.Unlock()
				}
				time.Sleep(c.between(0, c.plan.election/20))
			}
		})
	}
	time.Sleep(c.between(0, c.plan.election/2))
	fail()
	clients.Wait()
	return fresh
}
