package replication

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"

	"limitsrv/testwait"
)

// TestCloseWhileASeatIsTaken ends a node while raft is being started again.
func TestCloseWhileASeatIsTaken(t *testing.T) {
	var (
		node    *Node
		seats   int
		sitting = make(chan struct{})
	)
	c := startCluster(t, 1, func(o *Options) {
		o.stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) {
			if seats++; seats == 2 {
				close(sitting)
				<-node.stopping.Done()
			}
			return openStores(dir, newRaftLog(slog.New(slog.DiscardHandler)))
		}
	})
	node = c.leader()
	var restart sync.WaitGroup
	restart.Go(func() { node.restart("of a test") })
	<-sitting
	closed := make(chan error, 1)
	go func() { closed <- node.Close(context.Background()) }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testwait.Scaled(30 * time.Second)):
		t.Fatal("Close has not ended within 30 s")
	}
	restart.Wait()
	if node.seat.Load() != nil {
		t.Error("a closed node has a seat")
	}
}

// TestStopEndsWithItsContext stops a leader whose disk hangs: neither StepDown nor Close
// waits for it any longer than their contexts say.
func TestStopEndsWithItsContext(t *testing.T) {
	var hangs atomic.Bool
	hung, released := make(chan struct{}, 1), make(chan struct{})
	c := startCluster(t, 2, func(o *Options) {
		o.Fatal = func(error) {}
		o.fs = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if hangs.Load() && op.Kind == errorfs.OpFileWriteAt {
				select {
				case hung <- struct{}{}:
				default:
				}
				<-released
			}
			return nil
		}))
	})
	leader := c.leader()
	c.voters(2)
	hangs.Store(true)
	go take(leader, "k", 10, 1)
	<-hung
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	leader.StepDown(ctx)
	if !isLeader(leader.seat.Load().raft) {
		t.Error("leadership was transferred, and the disk hangs")
	}
	if err := leader.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close: %v, want that its time is over", err)
	}
	hangs.Store(false)
	close(released)
	leader.wait.Wait()
}
