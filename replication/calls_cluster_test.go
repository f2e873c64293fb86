package replication

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"limitsrv/engine"
	answers "limitsrv/engine/answer"
)

// counters is a set of one command on plain values: it adds to the number of each of its
// keys, and answers the last sum.
type counters struct{}

func (counters) Level() uint8 { return 1 }

func (counters) Check(c *engine.Call) error {
	if c.Command != 0 || len(c.Args) == 0 {
		return fmt.Errorf("command %d with %d arguments", c.Command, len(c.Args))
	}
	return nil
}

func (counters) Keys(c *engine.Call, dst []int) ([]int, bool) {
	for i := range c.Args {
		dst = append(dst, i)
	}
	return dst, false
}

func (counters) Do(tx *engine.Tx, c *engine.Call) {
	for _, key := range c.Args {
		e, found := tx.Find(key)
		n := int64(0)
		if found {
			n, _ = tx.Int(e)
		}
		tx.PutInt(e, n+1, 0)
		c.Answer = answers.AppendInt(c.Answer[:0], n+1)
	}
}

// count adds 1 to keys of a database and returns the answer.
func count(n *Node, db uint8, keys ...string) (string, error) {
	b := new(engine.Batch)
	c := b.AddCall(db)
	for _, key := range keys {
		c.Args = append(c.Args, []byte(key))
	}
	if err := exec(n, b); err != nil {
		return "", err
	}
	v, _, _ := answers.Next(b.Calls[0].Answer)
	return strconv.FormatInt(v.Int, 10), nil
}

// awaitLevel waits until all nodes may have calls in their log.
func (c *testCluster) awaitLevel() {
	c.t.Helper()
	eventually(c.t, "the level rises on all nodes", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.Replication().FeatureLevel < 2 })
	})
}

// TestClusterCarriesOutCalls counts by all nodes of a cluster, before and after the leader
// left and a node was started again from a snapshot.
func TestClusterCarriesOutCalls(t *testing.T) {
	c := startCluster(t, 3, func(o *Options) { o.Commands, o.ElectionTimeout = counters{}, noElection() })
	leader := c.leader()
	c.awaitLevel()
	next := 0
	countBy := func(n *Node) {
		t.Helper()
		next++
		if got, err := count(n, 3, "other", "k"); err != nil || got != strconv.Itoa(next) {
			t.Fatalf("count %d: %q, %v", next, got, err)
		}
		if d, err := take(n, "k", 100, 1); err != nil || d.Remaining != int64(100-next) {
			t.Fatalf("take %d: %+v, %v", next, d, err)
		}
	}
	for i := range 9 {
		countBy(c.nodes[i%3])
	}
	c.waitForAgreement()
	o := leader.o
	c.close(leader)
	for _, n := range c.nodes {
		c.leader()
		countBy(n)
	}
	c.nodes = append(c.nodes, c.open(o))
	c.leader()
	for _, n := range c.nodes {
		eventually(t, "the node serves", func() bool {
			got, err := count(n, 3, "k")
			if err == nil {
				if next++; got != strconv.Itoa(next) {
					t.Fatalf("count %d: %q", next, got)
				}
			}
			return err == nil
		})
	}
	c.waitForAgreement()
}

// TestCallsWaitForTheLevel: while a member can not read them, entries with calls are
// refused.
func TestCallsWaitForTheLevel(t *testing.T) {
	c := startCluster(t, 1, func(o *Options) { o.Commands, o.level = counters{}, 1 })
	n := c.leader()
	if _, err := count(n, 0, "k"); err == nil ||
		!strings.Contains(err.Error(), "this version of limitsrv or a later one") {
		t.Errorf("a call at level 1: %v", err)
	}
	if d, err := take(n, "k", 10, 1); err != nil || d.Remaining != 9 {
		t.Errorf("a take at level 1: %+v, %v", d, err)
	}
}

// TestRestartedNodeLearnsTheLevel: a node that has not read its log yet does not know its
// level. It answers so until the leader tells it, and never that a member is too old.
func TestRestartedNodeLearnsTheLevel(t *testing.T) {
	c := startCluster(t, 3, func(o *Options) { o.Commands = counters{} })
	leader := c.leader()
	if _, err := count(leader, 0, "k"); err != nil {
		eventually(t, "the level rises", func() bool {
			_, err = count(leader, 0, "k")
			return err == nil
		})
	}
	follower := c.nodes[slices.IndexFunc(c.nodes, func(n *Node) bool { return n != leader })]
	o := follower.o
	c.close(follower)
	c.nodes = append(c.nodes, c.open(o))
	restarted := c.nodes[2]
	eventually(t, "the restarted node serves", func() bool {
		_, err := count(restarted, 0, "k")
		if errors.Is(err, errLevel) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestGroupsWaitForTheLevel: while a member can not read them, entries with the newer kinds
// of groups are refused.
func TestGroupsWaitForTheLevel(t *testing.T) {
	c := startCluster(t, 1, func(o *Options) { o.level = 2 })
	n := c.leader()
	group := &engine.Batch{Ops: []engine.Op{fixed("a", 1), fixed("b", 1)}}
	group.Ops[0].Group = 2
	if err := exec(n, group); err != nil {
		t.Errorf("a group of any version: %v", err)
	}
	group.Ops[1].Mode = engine.Shadow
	if err := exec(n, group); err == nil || !strings.Contains(err.Error(), "this version of limitsrv or a later one") {
		t.Errorf("a group with a mode at level 2: %v", err)
	}
}
