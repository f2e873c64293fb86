package replication

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A countedStream counts dials, and signals each.
type countedStream struct {
	raft.StreamLayer
	dials chan struct{}
}

func (s countedStream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	s.dials <- struct{}{}
	return s.StreamLayer.Dial(address, timeout)
}

// nobodyAt knows no node at any address.
func nobodyAt(string) string { return "" }

// Entries for a node that does not answer are sent again after it answers a heartbeat,
// neither before that nor after a backoff.
func TestTransportWaitsForHeartbeat(t *testing.T) {
	const to = "b"
	expected := testNode("3") // not the node at the address
	var nodes [2]*links
	var transports [2]*raft.NetworkTransport
	dials := make(chan struct{}, 100)
	for i := range nodes {
		nodes[i] = tcpLinks(t, identity{clusterA, testNode(string(rune('1' + i)))}, linkOptions{})
		stream := countedStream{nodes[i].raft(func(string) string { return expected }), dials}
		transports[i] = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: stream, MaxPool: 2, Timeout: 30 * time.Second})
		defer transports[i].Close()
	}
	go func() {
		for rpc := range transports[1].Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
		}
	}()
	patched := newPatchedTransport(transports[0], "a", nobodyAt)
	address := raft.ServerAddress(nodes[1].address())
	send := func(r raft.AppendEntriesRequest) error {
		return patched.AppendEntries(to, address, &r, new(raft.AppendEntriesResponse))
	}
	heartbeat, entries := raft.AppendEntriesRequest{Term: 1}, raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1}
	if send(entries) == nil {
		t.Fatal("another node took entries")
	}
	sent := make(chan error, 1)
	go func() { sent <- send(entries) }()
	for range 3 {
		if send(heartbeat) == nil {
			t.Fatal("another node answered a heartbeat")
		}
	}
	time.Sleep(3 * reachablePoll) // no event signals that nothing happens
	if n := len(dials); n != 4 {
		t.Fatalf("%d dials, want one for entries and one for each of 3 heartbeats", n)
	}
	transports[0].CloseStreams()
	expected = testNode("2")
	if err := send(heartbeat); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Errorf("entries after a heartbeat: %v", err)
	}
}

// Entries for a node that does not answer fail when the sender loses leadership.
func TestTransportGivesUp(t *testing.T) {
	node := tcpLinks(t, identity{clusterA, testNode("1")}, linkOptions{})
	transport := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: node.raft(func(string) string { return "" }), MaxPool: 2, Timeout: 30 * time.Second,
	})
	patched := newPatchedTransport(transport, "a", nobodyAt)
	send := func() error {
		return patched.AppendEntries("b", raft.ServerAddress(freeAddresses(t, 1)[0]),
			&raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1}, new(raft.AppendEntriesResponse))
	}
	if send() == nil {
		t.Fatal("no node accepted entries")
	}
	sent := make(chan error, 1)
	go func() { sent <- send() }()
	transport.Close()
	if err := <-sent; err == nil {
		t.Error("no node accepted entries after the end")
	}
}

// A countedNetwork counts the dials of an address.
type countedNetwork struct {
	Network
	address string
	dials   *atomic.Int64
}

func (n countedNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	if address == n.address {
		n.dials.Add(1)
	}
	return n.Network.Dial(ctx, address)
}

// A removed node that does not answer is not contacted again.
func TestRemovedNodeIsNotContacted(t *testing.T) {
	var dials atomic.Int64
	c := startCluster(t, 3, func(o *Options) {
		o.Network = countedNetwork{systemNetwork(o.Raft), o.Peers[2], &dials}
	})
	c.leader()
	gone := c.nodes[2].identity().Node
	c.close(c.nodes[2])
	leader := c.leader()
	if d, err := take(leader, "k", 10, 1); err != nil || d.Allowed != 1 {
		t.Fatalf("take: %+v, %v", d, err)
	}
	failed := make(chan error, 1)
	leader.Change(Change{Kind: Forget, Node: gone}, func(err error) { failed <- err })
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	last := int64(-1)
	at := time.Now()
	eventually(t, "a node that was removed is not dialed for a second", func() bool {
		if now := dials.Load(); now != last {
			last, at = now, time.Now()
		}
		return time.Since(at) > time.Second
	})
}
