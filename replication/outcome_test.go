package replication

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/batch"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
	"limitsrv/replication/undecided"
)

// exec submits a batch to a node once and waits for the answer.
func exec(n *Node, b *engine.Batch) error {
	answer := make(chan error, 1)
	n.Exec(b, func(err error) { answer <- err })
	n.Commit()
	return <-answer
}

// fixed returns an op that takes tokens of a key with a limit of 10.
func fixed(key string, permits int64) engine.Op {
	return engine.Op{Kind: engine.Take, N: permits, Key: []byte(key), Params: everyAlgorithm["fixed"]}
}

// partitioned returns a node that remains of two, and waits until it has no leader.
func partitioned(t *testing.T, change func(*Options)) (c *testCluster, left, gone *Node) {
	t.Helper()
	c = startCluster(t, 2, change)
	c.decide(c.leader(), fixed("k", 4))
	c.waitForAgreement()
	left, gone = c.nodes[0], c.nodes[1]
	c.close(gone)
	eventually(t, "it has no leader", func() bool { return !left.Replication().HasQuorum })
	return c, left, gone
}

func TestNoQuorum(t *testing.T) {
	t.Parallel()
	params := everyAlgorithm["fixed"]
	for _, tt := range []struct {
		name   string
		policy NoQuorum
		want   []engine.Decision // of two Takes of 4, with 6 of 10 left; nil: refused
	}{
		{"error", undecided.Error, nil},
		{"allow", undecided.Allow,
			[]engine.Decision{{Params: params, Allowed: 1, Remaining: 6}, {Params: params, Allowed: 1, Remaining: 6}}},
		{"deny", undecided.Deny, []engine.Decision{{Params: params}, {Params: params}}},
		{"local", undecided.Local,
			[]engine.Decision{{Params: params, Allowed: 1, Remaining: 2}, {Params: params, Remaining: 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, n, gone := partitioned(t, func(o *Options) { o.NoQuorum = tt.policy })
			for i := range max(len(tt.want), 1) {
				b := engine.Batch{Ops: []engine.Op{fixed("k", 4), {Kind: engine.Forget, Key: []byte("k")}}}
				err := exec(n, &b)
				if tt.want == nil {
					if !isDown(err) {
						t.Errorf("a Take is answered %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got, down := b.Decisions[0], b.Decisions[1]
				if want := tt.want[i]; got.Allowed != want.Allowed || got.Remaining != want.Remaining ||
					got.Params != want.Params || got.Status != engine.OK {
					t.Errorf("Take %d is answered %+v, want %+v", i, got, want)
				}
				if down.Status != engine.Down {
					t.Errorf("a Forget is answered %+v", down)
				}
			}
			for what, b := range map[string]*engine.Batch{
				"a transaction": {Atomic: true, Ops: []engine.Op{fixed("k", 1)}},
				"a look":        {Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}},
				"a Refund":      {Ops: []engine.Op{{Kind: engine.Refund, N: 1, Key: []byte("k")}}},
			} {
				if err := exec(n, b); !isDown(err) {
					t.Errorf("%s is answered %v", what, err)
				}
			}
			stale := engine.Batch{Stale: true, Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}}
			if err := exec(n, &stale); err != nil || stale.Decisions[0].Remaining != 6 {
				t.Errorf("a stale read is answered %+v, %v", stale.Decisions, err)
			}
			if count := n.Replication().Totals; (count.NoQuorum > 0) != (tt.want != nil) || count.Refused == 0 {
				t.Errorf("counted are %d answers and %d refusals", count.NoQuorum, count.Refused)
			}
			c.nodes = append(c.nodes, c.open(gone.o))
			c.leader()
			eventually(t, "it has a leader", func() bool { return n.Replication().HasQuorum })
			if d := c.decide(n, fixed("k", 6)); d[0].Allowed != 1 || d[0].Remaining != 0 {
				t.Errorf("when they decide again: %+v, want all that was left", d[0])
			}
			c.waitForAgreement()
		})
	}
}

// The fingerprint read at any node matches an Expect at any other, until the leader
// changes.
func TestExpectAcrossNodes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, keepLeader)
	c.decide(c.leader(), fixed("k", 1))
	watch := func(n *Node) int64 {
		return c.decide(n, engine.Op{Kind: engine.Watch, Key: []byte("k")})[0].Remaining
	}
	expect := func(n *Node, print int64) engine.Status {
		t.Helper()
		b := engine.Batch{Atomic: true, Ops: []engine.Op{{Kind: engine.Expect, N: print, Key: []byte("k")}, fixed("k", 1)}}
		eventually(t, "an answer", func() bool { return exec(n, &b) == nil })
		if len(b.Decisions) != 2 {
			t.Fatalf("%d decisions", len(b.Decisions))
		}
		return b.Decisions[1].Status
	}
	for i, n := range c.nodes {
		print := watch(n)
		next := c.nodes[(i+1)%3]
		if print == 0 || watch(next) != print {
			t.Fatalf("two nodes return fingerprints %d and %d of a key", print, watch(next))
		}
		if got := expect(next, print); got != engine.OK {
			t.Fatalf("a batch with a true Expect is answered %v", got)
		}
		if got := expect(next, print); got != engine.Aborted {
			t.Fatalf("a batch with a changed key is answered %v", got)
		}
	}
	before := watch(c.nodes[0])
	leader := c.leader()
	if err := c.changed(leader, Change{Kind: Transfer}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another one leads", func() bool { return c.leader() != leader })
	if got := expect(c.nodes[0], before); got != engine.Aborted {
		t.Errorf("a fingerprint read under another leader is answered %v", got)
	}
	if got := expect(c.nodes[0], watch(c.nodes[1])); got != engine.OK {
		t.Errorf("a fingerprint read under this leader is answered %v", got)
	}
	if d := c.decide(c.nodes[2], fixed("k", 0)); d[0].Remaining != 5 {
		t.Errorf("%d are left, want 10-1-3-1", d[0].Remaining)
	}
	c.waitForAgreement()
}

// fill adds keys until a condition holds, or there are far too many.
func (c *testCluster) fill(until func(ds []engine.Decision) bool) (made int) {
	c.t.Helper()
	const atOnce = 500
	for made < 100_000 {
		ops := make([]engine.Op, atOnce)
		for i := range ops {
			ops[i] = fixed(fmt.Sprintf("%030d", made+i), 1)
		}
		made += atOnce
		if until(c.decide(c.nodes[made/atOnce%len(c.nodes)], ops...)) {
			return made
		}
	}
	c.t.Fatal("100000 keys fit")
	return made
}

const testBound = 1 << 20

func TestFullRefusesOnAllNodesAlike(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, func(o *Options) { o.MaxMemory, o.ElectionTimeout = testBound, noElection() })
	made := c.fill(func(ds []engine.Decision) bool { return ds[0].Status == engine.NoMemory })
	for _, n := range c.nodes {
		if d := c.decide(n, fixed("one more", 1), fixed(fmt.Sprintf("%030d", 0), 1)); d[0].Status != engine.NoMemory ||
			d[1].Allowed != 1 {
			t.Errorf("a new key is answered %+v, and one that is there %+v", d[0], d[1])
		}
	}
	c.waitForAgreement()
	for _, n := range c.nodes {
		if bytes := n.Engine().MemoryBytes(); bytes > testBound*5/4 {
			t.Errorf("%s has %d bytes in %d keys, %d are allowed", n.o.Raft, bytes, made, testBound)
		}
		n.SetBound(0, false)
	}
	if d := c.decide(c.nodes[0], fixed("one more", 1)); d[0].Allowed != 1 {
		t.Errorf("without a bound a new key is answered %+v", d[0])
	}
}

func TestFullEvictsOnAllNodesAlike(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, func(o *Options) { o.MaxMemory, o.Evict, o.ElectionTimeout = testBound, true, noElection() })
	batches := 0
	made := c.fill(func(ds []engine.Decision) bool {
		for _, d := range ds {
			if d.Allowed != 1 {
				t.Fatalf("a new key is answered %+v", d)
			}
		}
		batches++
		return batches == 50
	})
	c.waitForAgreement()
	for _, n := range c.nodes {
		e := n.Engine()
		if bytes := e.MemoryBytes(); bytes > testBound*5/4 || bytes < testBound/2 || e.Len() >= int64(made) {
			t.Errorf("%s has %d bytes in %d of %d keys, about %d are allowed", n.o.Raft, bytes, e.Len(), made, testBound)
		}
		if got, want := e.Stats().Evicted, int64(made)-e.Len(); got != want {
			t.Errorf("%s counts %d evictions, want %d", n.o.Raft, got, want)
		}
	}
}

// A node with a stuck raft restarts it, as a leader or not.
func TestRestart(t *testing.T) {
	testwait.Long(t)
	t.Parallel()
	c := startCluster(t, 3, keepLeader) // beside the test's own restarts
	for range 2 {
		leader := c.leader()
		for _, n := range []*Node{c.other(leader), leader} {
			before := n.stack.Load()
			n.restartRaft("a test wants it")
			if n.stack.Load() == before || n.Replication().Totals.Restarts == 0 {
				t.Fatal("raft was not restarted")
			}
			c.takeAll(n, n.o.Raft)
		}
	}
	c.waitForAgreement()
}

// A switchedNetwork is a Network that can be shut: then all its connections break.
type switchedNetwork struct {
	Network
	mu   sync.Mutex
	shut bool
	open []net.Conn
}

var errShut = errors.New("the test has shut the network")

func (g *switchedNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	if g.isShut() {
		return nil, errShut
	}
	conn, err := g.Network.Dial(ctx, address)
	return g.keep(conn, err)
}

func (g *switchedNetwork) Listen(address string) (net.Listener, error) {
	l, err := g.Network.Listen(address)
	return switchedListener{l, g}, err
}

type switchedListener struct {
	net.Listener
	gate *switchedNetwork
}

func (l switchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return l.gate.keep(conn, err)
}

func (g *switchedNetwork) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

func (g *switchedNetwork) keep(conn net.Conn, err error) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.open = append(g.open, conn)
		if g.shut {
			conn.Close()
		}
	}
	return conn, err
}

func (g *switchedNetwork) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, conn := range g.open {
		if shut {
			conn.Close()
		}
	}
}

// A partitioned leader answers requests in its log UNCERTAIN. It answers all other requests
// CLUSTERDOWN, because they were not applied.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	gates := map[string]*switchedNetwork{}
	c := startCluster(t, 3, func(o *Options) {
		gates[o.Raft] = &switchedNetwork{Network: systemNetwork(o.Raft)}
		o.Network = gates[o.Raft]
	})
	const limit = 1_000_000
	applied, unknown, seen := int64(0), int64(0), false
	for try := 0; try < 10 && !seen; try++ {
		leader := c.leader()
		gates[leader.o.Raft].set(true)
		for done := false; !done; {
			_, err := take(leader, "k", limit, 1)
			switch {
			case err == nil:
				applied++ // before the network broke
			case errors.Is(err, errUncertain):
				unknown++
				seen = true
			case isDown(err):
				done = true
			default:
				t.Fatalf("a Take is answered %v", err)
			}
		}
		gates[leader.o.Raft].set(false)
		eventually(t, "it decides again", func() bool {
			_, err := take(leader, "k", limit, 1)
			if errors.Is(err, errUncertain) {
				unknown++
			}
			if err == nil {
				applied++
			}
			return err == nil
		})
		if got := leader.Replication().Totals.Uncertain; seen && got == 0 {
			t.Error("uncertain batches are not counted")
		}
	}
	if !seen {
		t.Error("nothing was uncertain")
	}
	c.checkRemaining("k", limit, applied, unknown)
}

// checkRemaining compares the remaining tokens of a key with the answers given to clients.
func (c *testCluster) checkRemaining(key string, limit, applied, unknown int64) {
	c.t.Helper()
	var d engine.Decision
	eventually(c.t, "a look", func() (ok bool) {
		var err error
		d, err = take(c.nodes[0], key, limit, 0)
		return err == nil
	})
	if used := limit - d.Remaining; used < applied || used > applied+unknown {
		c.t.Errorf("%d are used, %d were granted and %d may have been", used, applied, unknown)
	}
	c.waitForAgreement()
}

// While the leader changes, each request at any node is decided once.
func TestTakesDuringLeaderChanges(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, nil)
	c.leader()
	const limit = 1_000_000
	var applied, unknown, changes atomic.Int64
	var stop atomic.Bool
	var wait sync.WaitGroup
	for _, n := range c.nodes {
		for range 2 {
			wait.Go(func() {
				for !stop.Load() {
					switch _, err := take(n, "k", limit, 1); {
					case err == nil:
						applied.Add(1)
					case errors.Is(err, errUncertain):
						unknown.Add(1)
					case !isDown(err):
						t.Errorf("a Take is answered %v", err)
						return
					}
				}
			})
		}
	}
	for changes.Load() < 5 {
		before := applied.Load()
		if err := c.changed(c.leader(), Change{Kind: Transfer}); err == nil {
			changes.Add(1)
		}
		eventually(t, "clients continue", func() bool { return applied.Load() > before+10 })
	}
	stop.Store(true)
	wait.Wait()
	t.Logf("%d granted, %d uncertain", applied.Load(), unknown.Load())
	c.checkRemaining("k", limit, applied.Load(), unknown.Load())
}

// Only requests that raft did not put into its log are retried.
func TestRejectedProposalIsRetried(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 2, keepLeader)
	c.decide(c.leader(), fixed("k", 1))
	c.waitForAgreement()
	follower := c.other(c.leader())
	b := &engine.Batch{Ops: []engine.Op{fixed("k", 1)}}
	f := newProposer(follower).build(follower.stack.Load().FSM, 0,
		[]batch.Request{{Request: forward.Request{Batch: b, Done: func(error) {}}}})
	if err := follower.propose(f); !errors.Is(err, raft.ErrNotLeader) || !certainlyNotApplied(err) {
		t.Errorf("a follower's proposal returns %v", err)
	}
	if f.Claim() {
		t.Error("the FSM may still answer the retried proposal")
	}
	if d := c.decide(follower, fixed("k", 0)); d[0].Remaining != 9 {
		t.Errorf("%d are left, want 9", d[0].Remaining)
	}
	for err, want := range map[error]bool{
		raft.ErrLeadershipTransferInProgress: true, raft.ErrEnqueueTimeout: true, forward.ErrNotAccepted: true,
		raft.ErrLeadershipLost: false, raft.ErrRaftShutdown: false, raft.ErrAbortedByRestore: false, errShut: false,
	} {
		if got := certainlyNotApplied(err); got != want {
			t.Errorf("%v: in no log %v, want %v", err, got, want)
		}
	}
}

// isDown reports whether an error says that there is no quorum.
func isDown(err error) bool {
	var coded *link.Error
	return errors.As(err, &coded) && coded.Code() == errNoQuorum.Code()
}
