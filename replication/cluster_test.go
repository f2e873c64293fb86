package replication

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/forward"
	"limitsrv/replication/undecided"
)

// A testCluster is a cluster of nodes in this process, with their own files and ports.
type testCluster struct {
	t     testing.TB
	peers []string
	nodes []*Node
	logs  *testwait.Log
}

// nextPort counts the ports that tests have tried, below those that systems assign to
// connections.
var nextPort = func() *atomic.Int32 {
	var n atomic.Int32
	n.Store(rand.Int32N(12000))
	return &n
}()

// freeAddresses returns addresses without a listener.
func freeAddresses(t testing.TB, n int) (all []string) {
	for len(all) < n {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+nextPort.Add(1)%12000)
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		defer l.Close()
		all = append(all, address)
	}
	return all
}

func startCluster(t testing.TB, n int, change func(*Options)) *testCluster {
	testwait.Long(t)
	c := &testCluster{t: t, peers: freeAddresses(t, n), logs: new(testwait.Log)}
	dir := t.TempDir()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.logs.String())
		}
	})
	for i := range n {
		o := c.options(filepath.Join(dir, fmt.Sprint(i)), c.peers[i])
		o.Peers = c.peers
		if change != nil {
			change(&o)
		}
		c.nodes = append(c.nodes, c.open(o))
	}
	return c
}

func (c *testCluster) options(dir, address string) Options {
	return Options{
		Dir: dir, Raft: address, Ack: AckMemory, Client: "client-of-" + address, Version: "test",
		Logger: slog.New(slog.NewTextHandler(c.logs, &slog.HandlerOptions{Level: slog.LevelDebug})).With("at", address),
		Fatal:  func(err error) { c.t.Errorf("fatal error of %s: %v", address, err) },
	}
}

func (c *testCluster) open(o Options) *Node {
	n, err := Open(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if n.stopping.Err() == nil {
			c.close(n)
		}
	})
	return n
}

// close closes a node cleanly.
func (c *testCluster) close(n *Node) {
	c.t.Helper()
	if err := n.Close(context.Background()); err != nil {
		c.t.Error(err)
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(x *Node) bool { return x == n })
}

// patience bounds the wait for an event on an idle machine.
const patience = 30 * time.Second

// noElection returns an election timeout for tests that lose no leader: a node that does
// not run for a while on a busy machine does not count as failed.
func noElection() time.Duration { return testwait.Scaled(2 * time.Second) }

// keepLeader is noElection as an option.
func keepLeader(o *Options) { o.ElectionTimeout = noElection() }

// eventually waits for an event of a cluster.
func eventually(t testing.TB, event string, happens func() bool) {
	t.Helper()
	testwait.Until(t, patience, event, happens)
}

func (c *testCluster) leader() *Node {
	c.t.Helper()
	var leader *Node
	eventually(c.t, "a leader", func() bool {
		for _, n := range c.nodes {
			if n != nil && n.leadership().leading {
				leader = n
				return true
			}
		}
		return false
	})
	return leader
}

func take(n *Node, key string, limit, permits int64) (engine.Decision, error) {
	b := &engine.Batch{Ops: []engine.Op{{
		Kind: engine.Take, N: permits, Key: []byte(key),
		Params: engine.Params{Alg: engine.Fixed, Limit: limit, Period: engine.MaxPeriod},
	}}}
	if err := exec(n, b); err != nil {
		return engine.Decision{}, err
	}
	return b.Decisions[0], nil
}

func TestClusterDecides(t *testing.T) {
	c := startCluster(t, 3, keepLeader)
	c.leader()
	for i := range 12 {
		n := c.nodes[i%3]
		d, err := take(n, "k", 10, 1)
		if want := int64(max(9-i, 0)); err != nil || d.Remaining != want || (d.Allowed == 1) != (i < 10) {
			t.Fatalf("take %d: %+v, %v, want %d left", i, d, err, want)
		}
	}
	c.waitForAgreement()
}

// waitForAgreement waits until all nodes have the same state.
func (c *testCluster) waitForAgreement() {
	c.t.Helper()
	eventually(c.t, "all nodes have the same state", func() bool {
		var first [2]uint64
		for i, n := range c.nodes {
			index, digest := n.Digest()
			if i == 0 {
				first = [2]uint64{index, digest}
			}
			if first != [2]uint64{index, digest} {
				return false
			}
		}
		return true
	})
}

func TestClusterSurvivesLeaderLoss(t *testing.T) {
	c := startCluster(t, 3, nil)
	old := c.leader()
	if d, err := take(old, "k", 10, 3); err != nil || d.Allowed != 1 {
		t.Fatalf("take: %+v, %v", d, err)
	}
	c.close(old)
	for _, n := range c.nodes {
		if d, err := take(n, "k", 10, 3); err != nil || d.Allowed != 1 {
			t.Fatalf("take after the leader left: %+v, %v", d, err)
		}
	}
	if d, err := take(c.nodes[0], "k", 10, 2); err != nil || d.Allowed != 0 || d.Remaining != 1 {
		t.Fatalf("take beyond the limit: %+v, %v", d, err)
	}
	c.waitForAgreement()
}

// Requests to a follower with a full link to the leader wait, and are not answered as
// without a leader.
func TestOverloadKeepsQuorum(t *testing.T) {
	const hold = 200 * time.Millisecond
	stalls := &stallingNetwork{Network: tcp{}}
	c := startCluster(t, 3, func(o *Options) {
		o.NoQuorum, o.Network, o.ElectionTimeout = undecided.Allow, stalls, noElection()
		o.maxHold = hold // otherwise up to 150 s
	})
	leader := c.leader()
	follower := c.nodes[slices.IndexFunc(c.nodes, func(n *Node) bool { return n != leader })]
	if _, err := take(follower, "k", 10, 1); err != nil {
		t.Fatal(err)
	}
	stalls.Lock()
	peeks := &engine.Batch{Ops: make([]engine.Op, 1<<16)}
	for i := range peeks.Ops {
		peeks.Ops[i] = engine.Op{Kind: engine.Peek, Key: []byte("k")}
	}
	for room := 1; room > 0; {
		one := forward.Request{Batch: &engine.Batch{Ops: peeks.Ops}, Done: func(error) {}}
		room = follower.forwarder.Send(leader.o.Raft, leader.identity().Node, []forward.Request{one})
	}
	answered := make(chan error, 1)
	var d engine.Decision
	go func() {
		got, err := take(follower, "k", 10, 1)
		d = got
		answered <- err
	}()
	select {
	case err := <-answered:
		stalls.Unlock() // or no node could be closed
		t.Fatalf("answered while the link is full: %+v, %v", d, err)
	case <-time.After(3 * hold):
	}
	stalls.Unlock()
	if err := <-answered; err != nil || d.Remaining != 8 || follower.undecided.Allowed.Load() != 0 {
		t.Errorf("when there is room: %+v, %v, %d allowed without a quorum, want 8 left and none", d, err,
			follower.undecided.Allowed.Load())
	}
}

// While it is locked, a stallingNetwork holds back the requests forwarded to a leader, and
// no deadline ends their links.
type stallingNetwork struct {
	Network
	sync.Mutex
}

func (n *stallingNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := n.Network.Dial(ctx, address)
	return &stallingConn{Conn: conn, network: n}, err
}

type stallingConn struct {
	net.Conn
	network  *stallingNetwork
	greeted  bool
	forwards bool
}

func (c *stallingConn) Write(data []byte) (int, error) {
	if c.forwards {
		c.network.Lock()
		defer c.network.Unlock()
	}
	if !c.greeted {
		c.greeted = true
		c.forwards = data[len("LIMITSRV")+4] == 2 // the kind of the link
	}
	return c.Conn.Write(data)
}

func (c *stallingConn) SetReadDeadline(at time.Time) error {
	if c.forwards {
		return nil
	}
	return c.Conn.SetReadDeadline(at)
}
