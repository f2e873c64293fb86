package replication

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// farNetwork is one whose nodes are far from each other.
type farNetwork struct {
	tcp
	delay time.Duration
}

func (f farNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := f.tcp.Dial(ctx, address)
	return farConn{conn, f.delay}, err
}

type farConn struct {
	net.Conn
	delay time.Duration
}

func (c farConn) Write(data []byte) (int, error) {
	time.Sleep(c.delay)
	return c.Conn.Write(data)
}

// TestJoinFromAfar has a node join a cluster whose changes take longer than a call.
func TestJoinFromAfar(t *testing.T) {
	far := farNetwork{delay: minCallTimeout / 2}
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

// TestOtherAddress starts the node of a directory, or of a copy of one, at an address
// where the others do not reach it: with two of one id there could be two leaders.
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
