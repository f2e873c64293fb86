package replication

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// simCase runs a cluster of three through one case, without other troubles.
func simCase(t *testing.T, do func(t *testing.T, c *simCluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(simPlan{
			seed: 1, election: defaultElectionTimeout, logBytes: 64 << 10, quietGap: time.Second, busyGap: time.Second,
		})
		c.begin()
		do(t, c)
		said := c.logs.last()
		for _, fault := range c.end() {
			t.Error(fault)
		}
		if t.Failed() {
			t.Logf("the nodes said last:\n%s", said)
		}
	})
}

// TestSimJoinFails has a node join whose disk fails at some write: it ends, does not
// ask again and again, and is a member when it has been started again.
func TestSimJoinFails(t *testing.T) {
	for writes := 0; writes < 40; writes += 3 {
		simCase(t, func(t *testing.T, c *simCluster) {
			n := c.addNode()
			n.broken = true
			n.disk.fault.failWrites(writes, syscall.EIO)
			n.start()
			time.Sleep(10 * time.Second)
			if joins := c.logs.count("a node joins the cluster"); joins > 1 {
				t.Errorf("with a disk that fails after %d writes the node joined %d times", writes, joins)
			}
			c.settle("a join that failed")
		})
	}
}
