package replication

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/link"
)

// join opens a node that joins, and adds it to c.
func (c *testCluster) join(change func(*Options)) *Node {
	c.t.Helper()
	o := c.options(c.t.TempDir(), freeAddresses(c.t, 1)[0])
	o.Join = []string{c.nodes[0].o.Raft}
	if change != nil {
		change(&o)
	}
	n := c.open(o)
	c.nodes = append(c.nodes, n)
	return n
}

// changed has a node make a change.
func (c *testCluster) changed(n *Node, change Change) error {
	done := make(chan error, 1)
	n.Change(change, func(err error) { done <- err })
	return <-done
}

// has reports whether the leader has a member with that id.
func (c *testCluster) has(node string) bool {
	return slices.ContainsFunc(c.leader().Nodes(""), func(m status.Node) bool { return m.ID == node })
}

// expectFatal makes a call of Fatal the expected outcome.
func expectFatal(o *Options) <-chan error {
	failed := make(chan error, 1)
	o.Fatal = func(err error) { failed <- err }
	return failed
}

// receive waits for a value from a channel.
func receive[T any](t testing.TB, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(testwait.Scaled(30 * time.Second)):
		t.Fatalf("not within 30 s: %s", what)
	}
	return got
}

func TestMemberJoins(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 2, nil)
	c.takeAll(c.leader(), "")
	joined := c.join(nil)
	eventually(t, "it is a member", func() bool { return c.has(joined.identity().Node) })
	c.voters(3)
	c.takeAll(joined, " again")
	c.waitForAgreement()
	if st := joined.Replication(); st.Role != status.Follower || st.ClusterID != c.leader().Replication().ClusterID {
		t.Errorf("it is %+v", st)
	}
	c.close(c.nodes[0]) // its vote counts
	c.takeAll(joined, " at last")
}

func TestMemberThatWasWipedIsANewOne(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, nil)
	c.takeAll(c.leader(), "")
	wiped := c.other(c.leader())
	old := wiped.identity().Node
	c.close(wiped)
	if err := os.RemoveAll(wiped.o.Dir); err != nil {
		t.Fatal(err)
	}
	again := c.open(wiped.o)
	c.nodes = append(c.nodes, again)
	eventually(t, "it is another member", func() bool { return c.has(again.identity().Node) && !c.has(old) })
	c.voters(3)
	c.takeAll(again, " again")
	c.waitForAgreement()
	if _, reported := c.leader().stack.Load().FSM.Members()[old]; reported {
		t.Error("the log still has the former node's data")
	}
}

func TestMemberIsForgotten(t *testing.T) {
	t.Parallel()
	failed := map[string]<-chan error{}
	c := startCluster(t, 4, func(o *Options) { failed[o.Raft], o.ElectionTimeout = expectFatal(o), noElection() })
	leader := c.leader()
	dead := c.other(leader)
	c.close(dead)
	if err := c.changed(c.other(leader), Change{Forget, "nobody"}); err == nil ||
		!strings.Contains(err.Error(), "unknown node nobody") {
		t.Errorf("to forget an unknown node: %v", err)
	}
	if err := c.changed(c.other(leader), Change{Forget, dead.o.Raft}); err != nil {
		t.Fatalf("to forget a dead node by its address: %v", err)
	}
	if c.has(dead.identity().Node) {
		t.Error("the dead node is still a member")
	}
	alive := c.other(leader)
	if err := c.changed(leader, Change{Forget, alive.identity().Node}); err != nil {
		t.Fatalf("to forget a living node: %v", err)
	}
	if err := receive(t, "the node that was removed ends", failed[alive.o.Raft]); !strings.Contains(err.Error(),
		"was removed from the cluster") {
		t.Errorf("it ends with: %v", err)
	}
	c.close(alive)
	c.voters(2)
	c.takeAll(leader, "")
	for address, f := range failed {
		if len(f) > 0 {
			t.Errorf("%s ends: %v", address, <-f)
		}
	}
}

func TestMemberLeaves(t *testing.T) {
	t.Parallel()
	failed := map[string]<-chan error{}
	c := startCluster(t, 3, func(o *Options) { failed[o.Raft], o.ElectionTimeout = expectFatal(o), noElection() })
	for _, leading := range []bool{false, true} {
		gone := c.leader()
		if !leading {
			gone = c.other(gone)
		}
		if err := c.changed(gone, Change{Kind: Leave}); err != nil {
			t.Fatalf("to leave, leading %v: %v", leading, err)
		}
		receive(t, "the node that left ends", failed[gone.o.Raft])
		c.close(gone)
		if c.has(gone.identity().Node) {
			t.Errorf("the node that left is a member, leading %v", leading)
		}
		c.takeAll(c.leader(), "")
	}
	if err := c.changed(c.leader(), Change{Kind: Leave}); err == nil || !strings.Contains(err.Error(), "the last member") {
		t.Errorf("the last one leaves: %v", err)
	}
}

// TestChangeWithoutAnswer stops a node while the entry of its change waits for a majority. The change
// may still be made, and its error says so.
func TestChangeWithoutAnswer(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 5, func(o *Options) { o.ElectionTimeout = noElection() })
	leader := c.leader()
	asked := c.other(leader)
	var dead *Node
	for _, n := range slices.Clone(c.nodes) {
		if n != leader && n != asked {
			c.close(n)
			dead = n
		}
	}
	before, failed := leader.stack.Load().raft.LastIndex(), make(chan error, 1)
	asked.Change(Change{Forget, dead.identity().Node}, func(err error) { failed <- err })
	eventually(t, "the change is in the log", func() bool { return leader.stack.Load().raft.LastIndex() > before })
	asked.stop()
	err := receive(t, "the change ends", failed)
	c.close(asked)
	if code, _ := link.ErrorParts(err); code != "UNCERTAIN" {
		t.Errorf("it ends with %v", err)
	}
}

// TestChangeErrors has a case for each end of a change in raft.
func TestChangeErrors(t *testing.T) {
	other := errors.New("other")
	for err, want := range map[error]error{
		raft.ErrNotLeader: errNotLeader, raft.ErrLeadershipTransferInProgress: errNotLeader,
		raft.ErrEnqueueTimeout: raft.ErrEnqueueTimeout,
		raft.ErrLeadershipLost: errChangeLost, raft.ErrRaftShutdown: errChangeLost, raft.ErrAbortedByRestore: errChangeLost,
		fmt.Errorf("%w: 5 s", errUnfinished): errChangeLost, other: other,
	} {
		if got := changeError(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

func TestLeadershipIsTransferred(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, keepLeader)
	for _, name := range []func(n *Node) string{
		func(n *Node) string { return n.identity().Node },
		func(n *Node) string { return n.o.Raft },
		func(*Node) string { return "" },
	} {
		leader := c.leader()
		to := c.other(leader)
		asked := to // any other node redirects to the leader
		if err := c.changed(asked, Change{Transfer, name(to)}); err != nil {
			t.Fatalf("to transfer to %q: %v", name(to), err)
		}
		eventually(t, "another one leads", func() bool {
			now := c.leader()
			return now != leader && (now == to || name(to) == "")
		})
	}
	if err := c.changed(c.leader(), Change{Transfer, "nobody"}); err == nil {
		t.Error("leadership was transferred to an unknown node")
	}
	c.takeAll(c.nodes[0], "")
}

func TestStrangerIsRefused(t *testing.T) {
	t.Parallel()
	c, d := startCluster(t, 1, nil), startCluster(t, 1, nil)
	own, stranger := c.leader(), d.leader()
	for _, name := range []string{callHello, callStatus, callJoin, callChange} {
		err := stranger.ask(own.o.Raft, name, Change{Forget, own.identity().Node}, nil)
		if err == nil || !strings.Contains(err.Error(), "cluster") {
			t.Errorf("%s of a node of another cluster: %v", name, err)
		}
	}
	unknown := func(string) string { return "" }
	if _, err := stranger.links.RaftStream(unknown).Dial(raft.ServerAddress(own.o.Raft), time.Minute); err == nil {
		t.Error("a node of another cluster has a link for raft")
	}
}

// A dead node is removed only if three healthy voters remain.
func TestDeadMemberIsRemoved(t *testing.T) {
	t.Parallel()
	const deadAfter = 3500 * time.Millisecond
	c := startCluster(t, 4, func(o *Options) { o.DeadAfter = deadAfter })
	c.takeAll(c.leader(), "")
	eventually(t, "all are online", func() bool { return c.online() == 4 })
	dead := c.other(c.leader())
	c.close(dead)
	eventually(t, "the dead node is removed", func() bool { return !c.has(dead.identity().Node) })
	second := c.other(c.leader())
	c.close(second)
	eventually(t, "it has been silent for longer than that", func() bool {
		for _, m := range c.leader().Nodes("") {
			if m.ID == second.identity().Node {
				return m.LastContact > deadAfter+3*maintainInterval
			}
		}
		t.Fatal("a node was removed with only two healthy voters")
		return false
	})
}

// online returns the number of online members.
func (c *testCluster) online() (online int) {
	for _, m := range c.leader().Nodes("") {
		if m.Online {
			online++
		}
	}
	return online
}

func TestLevelRisesWhenAllKnowIt(t *testing.T) {
	t.Parallel()
	older := ""
	c := startCluster(t, 3, func(o *Options) {
		if o.level = 2; older == "" {
			older, o.level = o.Raft, 1
		}
	})
	eventually(t, "all have published their data", func() bool { return len(c.leader().stack.Load().FSM.Members()) == 3 })
	leader := c.leader()
	leader.raiseLevel(t.Context(), leader.stack.Load())
	if level := leader.Replication().FeatureLevel; level != 1 {
		t.Fatalf("the log has level %d, which a member does not support", level)
	}
	c.awaitReady() // though the level of some is not in use
	upgraded := c.nodes[0]
	c.close(upgraded)
	upgraded.o.level = 2
	c.nodes = append(c.nodes, c.open(upgraded.o))
	c.awaitReady()
	if level := c.leader().Replication().FeatureLevel; level != 2 {
		t.Errorf("all nodes are ready, and the log has level %d", level)
	}
	eventually(t, "the level rises on all nodes", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.Replication().FeatureLevel != 2 })
	})
}

func TestLevelKeepsOlderOnesOut(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, func(o *Options) { o.level = 2 })
	eventually(t, "the level rises", func() bool { return c.leader().Replication().FeatureLevel == 2 })
	o := c.options(t.TempDir(), freeAddresses(t, 1)[0])
	o.Join = []string{c.nodes[0].o.Raft}
	o.level = 1
	older := c.open(o)
	if err := older.tryJoinOrBootstrap(); err == nil || !strings.Contains(err.Error(), "features up to level 2") {
		t.Errorf("a node of a lower level is answered: %v", err)
	}
	n := c.nodes[0]
	c.save(n)
	c.close(n)
	n.o.level = 1
	if reopened, err := Open(n.o); err == nil {
		t.Error("a node of a lower level starts on such a snapshot")
		reopened.Close(context.Background())
	}
}
