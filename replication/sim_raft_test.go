package replication

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/internal/testing/testwait"
)

// simStreams is a raft.StreamLayer over a simHost.
type simStreams struct {
	net.Listener
	host *simHost
}

func (s simStreams) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.host.Dial(ctx, string(address))
}

// simFSM is a raft.FSM that records applied entries.
type simFSM struct{ applied []byte }

func (f *simFSM) Apply(l *raft.Log) any {
	f.applied = append(f.applied, l.Data...)
	return nil
}
func (f *simFSM) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }
func (f *simFSM) Restore(io.ReadCloser) error         { return fmt.Errorf("there are no snapshots") }

// catchUp is the longest time until a node of a repaired network has all entries: raft
// waits for up to 10.24 s before it calls an unreachable node again.
const catchUp = 30 * time.Second

// Plain raft groups of three run through random cuts of single directions: all
// acknowledged entries are on every node at the end, in the same order.
func TestSimRaft(t *testing.T) {
	const hours = 0.2
	seed, start := testwait.Seed(t), time.Now()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		rng, n := rand.New(rand.NewPCG(seed, 1)), newSimNet(seed, 500*time.Microsecond)
		defer n.close()
		names := []string{"a", "b", "c"}
		var group []*raft.Raft
		var fsms []*simFSM
		var servers []raft.Server
		for _, name := range names {
			servers = append(servers, raft.Server{ID: raft.ServerID(name), Address: raft.ServerAddress(name + ":1")})
		}
		for _, name := range names {
			host := n.host(name)
			l, err := host.Listen(name + ":1")
			if err != nil {
				t.Fatal(err)
			}
			transport := raft.NewNetworkTransport(simStreams{l, host}, 3, time.Second, io.Discard)
			c := raft.DefaultConfig()
			c.LocalID, c.LogOutput = raft.ServerID(name), io.Discard
			c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = 300*time.Millisecond, 300*time.Millisecond,
				200*time.Millisecond
			fsm, store := &simFSM{}, raft.NewInmemStore()
			r, err := raft.NewRaft(c, fsm, store, store, raft.NewInmemSnapshotStore(), transport)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.BootstrapCluster(raft.Configuration{Servers: servers}).Error(); err != nil {
				t.Fatal(err)
			}
			group, fsms = append(group, r), append(fsms, fsm)
			defer transport.Close()
			defer func() { r.Shutdown().Error() }()
		}
		var acked [][]byte
		end := time.Now().Add(time.Duration(hours * float64(time.Hour)))
		for i := 0; time.Now().Before(end); i++ {
			n.setCut(names[rng.IntN(3)], names[rng.IntN(3)], rng.IntN(3) == 0)
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			for _, r := range group {
				data := fmt.Appendf(nil, "%d ", i)
				if r.State() == raft.Leader && r.Apply(data, time.Second).Error() == nil {
					acked = append(acked, data)
				}
			}
		}
		n.repair(names)
		time.Sleep(catchUp)
		synctest.Wait()
		for i, fsm := range fsms {
			if !bytes.Equal(fsm.applied, fsms[0].applied) {
				t.Errorf("%s applied %d bytes, a %d", names[i], len(fsm.applied), len(fsms[0].applied))
			}
		}
		lost := 0
		for _, data := range acked {
			if !bytes.Contains(append([]byte(" "), fsms[0].applied...), append([]byte(" "), data...)) {
				lost++
			}
		}
		if lost > 0 || len(acked) < 100 {
			t.Errorf("%d of %d acknowledged entries are lost", lost, len(acked))
		}
		t.Logf("%d entries were acknowledged", len(acked))
	})
	t.Logf("%.0f times as fast as time", hours*3600/time.Since(start).Seconds())
}
