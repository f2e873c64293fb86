package replication

import (
	"context"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A node's transport handles no heartbeats outside raft's main goroutine.
func TestHeartbeatsUseMainGoroutine(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	handler := func(transport *raft.NetworkTransport) reflect.Value {
		return reflect.ValueOf(transport).Elem().FieldByName("heartbeatFn")
	}
	s := c.leader().stack.Load()
	if !handler(s.transport.NetworkTransport).IsNil() {
		t.Error("it has a handler for heartbeats")
	}
	s.transport.NetworkTransport.SetHeartbeatHandler(func(raft.RPC) {})
	if handler(s.transport.NetworkTransport).IsNil() {
		t.Error("the test does not see a handler")
	}
	s.transport.NetworkTransport.SetHeartbeatHandler(nil)
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
