package replication

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

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
