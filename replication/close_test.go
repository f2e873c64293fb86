package replication

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"

	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/offline"
	"limitsrv/replication/storage"
)

// A node is closed while raft is restarted.
func TestCloseDuringRestart(t *testing.T) {
	var (
		node    *Node
		starts  int
		sitting = make(chan struct{})
	)
	c := startCluster(t, 1, func(o *Options) {
		o.stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) {
			if starts++; starts == 2 {
				close(sitting)
				<-node.stopping.Done()
			}
			return storage.OpenStores(dir, 0, newRaftLogger(slog.New(slog.DiscardHandler)))
		}
	})
	node = c.leader()
	var restart sync.WaitGroup
	restart.Go(func() { node.restartRaft("of a test") })
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
	if node.stack.Load() != nil {
		t.Error("a closed node has a raft stack")
	}
}

// A leader with a hanging disk is stopped: neither StepDown nor Close blocks longer than
// its context.
func TestStopHonorsContext(t *testing.T) {
	var hangs atomic.Bool
	hung, released := make(chan struct{}, 1), make(chan struct{})
	c := startCluster(t, 2, func(o *Options) {
		o.ElectionTimeout = noElection()
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
	if !isLeader(leader.stack.Load().raft) {
		t.Error("leadership was transferred, and the disk hangs")
	}
	if err := leader.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close: %v, want that its time is over", err)
	}
	hangs.Store(false)
	close(released)
	leader.wait.Wait()
}

// A leader that steps down still answers the other nodes until they forward to the next leader.
func TestStepDownWaitsForOtherNodes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, nil)
	leader := c.leader()
	c.takeAll(c.other(leader), "")
	if n := leader.forwarding.Load(); n == 0 {
		t.Fatal("no node forwards to the leader")
	}
	leader.StepDown(context.Background())
	if n := leader.forwarding.Load(); n != 0 {
		t.Errorf("%d nodes still forward to the former leader", n)
	}
}

// A blockingStore blocks writers of a snapshot: begun is closed when a writer starts, and
// the writer continues after released.
type blockingStore struct {
	raft.SnapshotStore
	begun, released chan struct{}
}

func (h blockingStore) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, ci uint64,
	t raft.Transport) (raft.SnapshotSink, error) {
	close(h.begun)
	<-h.released
	return h.SnapshotStore.Create(v, index, term, c, ci, t)
}

// A node is closed while it writes a snapshot: the snapshot is removed, and the next start
// reads everything from the log.
func TestCloseCancelsSnapshot(t *testing.T) {
	t.Parallel()
	begun, released := make(chan struct{}), make(chan struct{})
	hold := true
	c := startCluster(t, 1, func(o *Options) {
		o.stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) {
			stable, snapshots, err := storage.OpenStores(dir, 0, newRaftLogger(slog.New(slog.DiscardHandler)))
			if hold {
				snapshots = blockingStore{snapshots, begun, released}
			}
			return stable, snapshots, err
		}
	})
	n := c.leader()
	c.takeAll(n, "")
	saved := make(chan error, 1)
	if err := n.Save(func(err error) { saved <- err }); err != nil {
		t.Fatal(err)
	}
	<-begun
	state := n.stack.Load().FSM
	go func() {
		for !state.Stopping() {
			time.Sleep(time.Millisecond)
		}
		close(released)
	}()
	c.close(n)
	if err := <-saved; err == nil {
		t.Error("the snapshot was finished")
	}
	if left, _ := filepath.Glob(filepath.Join(n.o.Dir, "raft/*/snapshots/*")); len(left) > 0 {
		t.Errorf("of the snapshot there is still %v", left)
	}
	hold = false
	if r, err := offline.Inspect(offlineOptions(n.o)); err != nil || r.Keys == 0 {
		t.Errorf("the next start has %+v, %v", r, err)
	}
}
