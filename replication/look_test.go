package replication

import (
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// execOn has a node decide a batch of ops.
func execOn(t *testing.T, n *Node, b *engine.Batch) []engine.Decision {
	t.Helper()
	if err := exec(n, b); err != nil {
		t.Fatal(err)
	}
	return b.Decisions
}

// A watched fingerprint holds until the key changes, at each node and for each kind of
// batch: a batch that may change keys, a read-only batch, and a stale read.
func TestExpect(t *testing.T) {
	testwait.Long(t)
	c := startCluster(t, 3, keepLeader) // another leader is another term
	leader := c.leader()
	nodes := []*Node{leader, c.nodes[0]}
	if nodes[1] == leader {
		nodes[1] = c.nodes[1]
	}
	key := []byte("k")
	change := engine.Op{Kind: engine.Take, N: 1, Key: key,
		Params: engine.Params{Alg: engine.Fixed, Limit: 1000, Period: engine.MaxPeriod}}
	for _, watching := range nodes {
		for _, expecting := range nodes {
			for i := range 8 {
				watchesStale, expectsStale, changes := i&1 > 0, i&2 > 0, i&4 > 0
				c.waitForAgreement()
				seen := execOn(t, watching,
					&engine.Batch{Stale: watchesStale, Ops: []engine.Op{{Kind: engine.Watch, Key: key}}})[0].Remaining
				then := change
				if !changes {
					then = engine.Op{Kind: engine.Peek, Key: key}
				}
				for _, want := range []bool{true, false} {
					ops := []engine.Op{{Kind: engine.Expect, Key: key, N: seen}, then}
					ds := execOn(t, expecting, &engine.Batch{Atomic: true, Stale: expectsStale, Ops: ops})
					if holds := ds[1].Status != engine.Aborted; holds != want {
						t.Errorf("watched stale %v, expected stale %v, changes %v: it holds %v, want %v", watchesStale, expectsStale,
							changes, holds, want)
					}
					if ops[0].N != seen {
						t.Errorf("the batch expects %x afterwards, want %x", ops[0].N, seen)
					}
					if !changes && want {
						execOn(t, watching, &engine.Batch{Ops: []engine.Op{change}})
						c.waitForAgreement()
					}
				}
			}
		}
	}
}

// A cluster without decisions uses its nodes' clocks.
func TestNowOfNewCluster(t *testing.T) {
	c := startCluster(t, 3, nil)
	c.leader()
	for _, n := range c.nodes {
		eventually(t, "a node has started raft", func() bool { return n.stack.Load() != nil })
		if off := time.Until(time.Unix(0, int64(n.Now()))); off.Abs() > time.Minute {
			t.Errorf("the time is off by %v", off)
		}
	}
}

// An answered decision is visible in the node's status.
func TestStatusShowsAnswered(t *testing.T) {
	c := startCluster(t, 1, nil)
	n := c.leader()
	for range 2000 {
		before, _ := n.Digest()
		if _, err := take(n, "k", 1_000_000, 1); err != nil {
			t.Fatal(err)
		}
		if after, _ := n.Digest(); after <= before {
			t.Fatalf("after a decision the index is %d, and it was %d before", after, before)
		}
	}
}
