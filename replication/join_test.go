package replication

import (
	"context"
	"net"
	"path/filepath"
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
	eventually(t, "a node from afar is a member", func() bool { return joined.seat.Load() != nil })
	if all := serversOf(leader.seat.Load().raft); len(all) != 3 {
		t.Errorf("the members are %v, want 3", all)
	}
}
