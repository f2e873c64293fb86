package replication

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/offline"
)

// digestLog records the digest of a node's engine after each entry.
type digestLog struct {
	node atomic.Pointer[Node]
	mu   sync.Mutex
	of   map[uint64]uint64
}

func (d *digestLog) applied(_ *fsm.FSM, index uint64, stamp engine.Instant, _ *engine.Batch) {
	n := d.node.Load()
	if n == nil {
		return
	}
	s := n.stack.Load()
	if s == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[index] = s.FSM.Engine().Digest(stamp)
}

// backup makes a backup and reads it.
func (c *testCluster) backup(n *Node, name string) persist.State {
	c.t.Helper()
	type result struct {
		path string
		err  error
	}
	done := make(chan result, 1)
	eventually(c.t, "a backup begins", func() bool {
		err := n.Backup(name, func(path string, err error) { done <- result{path, err} })
		if err != nil && !errors.Is(err, persist.ErrSaving) && !errors.Is(err, errNoState) {
			c.t.Fatal(err)
		}
		return err == nil
	})
	made := <-done
	if made.err != nil {
		c.t.Fatal(made.err)
	}
	state, err := persist.ReadState(context.Background(), nil, made.path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return state
}

// at returns the digest after an entry. An entry about the cluster changes no key: then the
// digest is the digest of the batch before.
func (d *digestLog) at(index uint64) (digest uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; index > 0 && !ok; index-- {
		digest, ok = d.of[index]
	}
	return digest, ok
}

// A backup made during decisions and snapshots has the state after the entry that it names,
// and nothing of a later entry.
func TestBackupHasOneEntrysState(t *testing.T) {
	t.Parallel()
	var seen []*digestLog
	c := startCluster(t, 3, func(o *Options) {
		d := &digestLog{of: make(map[uint64]uint64)}
		seen = append(seen, d)
		o.applied = d.applied
	})
	for i, n := range c.nodes {
		seen[i].node.Store(n)
	}
	leader := c.leader()
	c.takeAll(leader, "first")
	c.waitForAgreement()
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	for client := range 4 {
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					c.takeAll(c.nodes[client%3], fmt.Sprint(i%5))
				}
			}
		})
	}
	busy.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				leader.Save(func(error) {})
			}
		}
	})
	var last uint64
	for round := range 5 {
		for i, n := range c.nodes {
			state := c.backup(n, fmt.Sprint("b", round))
			want, ok := seen[i].at(state.Index)
			if got := state.Engine.Digest(state.Now); !ok || got != want {
				t.Errorf("node %d: the backup is of entry %d and has %x, want %x (%v)", i, state.Index, got, want, ok)
			}
			if !state.Backup || state.Cluster != n.identity().Cluster.String() || state.ID != n.identity().Node ||
				state.Term == 0 || state.Now == 0 || state.Taken.IsZero() {
				t.Errorf("node %d: its origin is %+v", i, state.Origin)
			}
			if n == leader && state.Index <= last {
				t.Errorf("the leader's backup is of entry %d, and an earlier one of %d", state.Index, last)
			}
			if n == leader {
				last = state.Index
			}
		}
	}
	close(stop)
	busy.Wait()
	c.waitForAgreement()
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	n := c.leader()
	c.takeAll(n, "")
	never := func(string, error) { t.Error("a backup that was refused is done") }
	for _, name := range []string{"", "../b", "a/b", "."} {
		if err := n.Backup(name, never); !errors.Is(err, persist.ErrBackupName) {
			t.Errorf("a backup %q was started: %v", name, err)
		}
	}
	n.stack.Load().saving.Take()
	if err := n.Backup("b", never); !errors.Is(err, persist.ErrSaving) {
		t.Errorf("a backup beside a snapshot was started: %v", err)
	}
	if since, again := n.Status().Saving.Since, n.Status().Saving.Since; since.IsZero() || since != again {
		t.Errorf("the snapshot began at %v, then at %v", since, again)
	}
	n.stack.Load().saving.Free()
	alone := c.options(t.TempDir(), freeAddresses(t, 1)[0])
	alone.Join = []string{freeAddresses(t, 1)[0]}
	if err := c.open(alone).Backup("b", never); err == nil {
		t.Error("a node of no cluster makes a backup")
	}
}

// The time of a directory made by Recover is not before the time of its source, at any
// reading of the machine's clock.
func TestRecoverKeepsTime(t *testing.T) {
	t.Parallel()
	ahead := engine.Instant(time.Now().Add(24 * time.Hour).UnixNano())
	began := time.Now()
	c := startCluster(t, 1, func(o *Options) {
		o.Wall = func() engine.Instant { return ahead + engine.Instant(time.Since(began)) }
	})
	n := c.leader()
	c.takeAll(n, "")
	index, digest := n.Digest()
	dir, address := n.o.Dir, n.o.Raft
	c.close(n)
	for i := range 4 { // alternately a single server and a member
		to := filepath.Join(t.TempDir(), "to")
		o := c.options(dir, address)
		if i%2 == 0 {
			o.Raft = ""
		}
		before, err := offline.Recover(offlineOptions(o), to)
		if err != nil || before.Stamp < ahead || before.LastIndex < index {
			t.Fatalf("it has %+v, %v, want the time %d", before, err, ahead)
		}
		after, err := offline.Inspect(offlineOptions(c.options(to, address)))
		if err != nil || after.Stamp != before.Stamp || after.LastIndex != before.LastIndex || after.Keys != before.Keys {
			t.Errorf("it has %+v, %v, and had %+v", after, err, before)
		}
		dir = to
	}
	next := c.open(c.options(dir, address))
	c.nodes = append(c.nodes, next)
	c.leader()
	if now := next.Now(); now < ahead {
		t.Errorf("it is %d at the node, and was %d", now, ahead)
	}
	if _, got := next.Digest(); got != digest {
		t.Errorf("the state is %x, and was %x", got, digest)
	}
}
