package replication

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A slowNetwork delays messages as between distant nodes.
type slowNetwork struct {
	tcp
	delay time.Duration
}

func (f slowNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := f.tcp.Dial(ctx, address)
	return slowConn{conn, f.delay}, err
}

type slowConn struct {
	net.Conn
	delay time.Duration
}

func (c slowConn) Write(data []byte) (int, error) {
	time.Sleep(c.delay)
	return c.Conn.Write(data)
}

// A node joins a cluster whose changes take longer than a call.
func TestJoinWithLatency(t *testing.T) {
	far := slowNetwork{delay: minCallTimeout / 2}
	c := startCluster(t, 2, func(o *Options) { o.Network = far })
	leader := c.leader()
	o := c.options(filepath.Join(t.TempDir(), "n"), freeAddresses(t, 1)[0])
	o.Join, o.Network = c.peers, far
	joined := c.open(o)
	eventually(t, "a node from afar is a member", func() bool { return joined.stack.Load() != nil })
	if all := serversOf(leader.stack.Load().raft); len(all) != 3 {
		t.Errorf("the members are %v, want 3", all)
	}
}

// The directory of a node, or a copy of it, is started at an address where the other nodes
// do not reach it: two nodes with the same id could elect two leaders.
func TestOtherAddress(t *testing.T) {
	c := startCluster(t, 1, nil)
	o := c.leader().o
	c.close(c.nodes[0])
	before := o.Raft
	o.Raft, o.Bind, o.Peers = freeAddresses(t, 1)[0], "", nil
	if n, err := Open(o); err == nil || !strings.Contains(err.Error(), before) {
		t.Errorf("opened at %s, not %s: %v", o.Raft, before, err)
		if err == nil {
			c.close(n)
		}
	}
	o.Raft = before
	c.nodes = append(c.nodes, c.open(o))
	c.leader()
}
