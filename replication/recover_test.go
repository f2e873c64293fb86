package replication

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/offline"
	"limitsrv/replication/storage"
)

// takeAll takes a token of a key of each algorithm.
func (c *testCluster) takeAll(n *Node, suffix string) {
	c.t.Helper()
	for _, op := range takesOfAll(suffix) {
		c.decide(n, op)
	}
}

// takesOfAll returns ops that take a token of a key of each algorithm.
func takesOfAll(suffix string) (ops []engine.Op) {
	for name, p := range everyAlgorithm {
		ops = append(ops,
			engine.Op{Kind: kindOf(p), N: 1, Key: []byte(name + suffix), ID: []byte("holder"), Params: p})
	}
	return ops
}

var everyAlgorithm = map[string]engine.Params{
	"token": {Alg: engine.Token, Limit: 10, Count: 1, Period: 1e12},
	"leaky": {Alg: engine.Leaky, Limit: 10, Count: 1, Period: 1e12},
	"fixed": {Alg: engine.Fixed, Limit: 10, Period: engine.MaxPeriod},
	"slide": {Alg: engine.Slide, Limit: 10, Period: engine.MaxPeriod},
	"log":   {Alg: engine.Log, Limit: 10, Period: engine.MaxPeriod},
	"lease": {Alg: engine.Lease, Limit: 10, Period: engine.MaxPeriod},
}

// kindOf returns the op kind that takes under the given parameters.
func kindOf(p engine.Params) engine.Kind {
	if p.Alg == engine.Lease {
		return engine.Acquire
	}
	return engine.Take
}

// decide has a node decide ops, and retries while it answers that they were not applied.
func (c *testCluster) decide(n *Node, ops ...engine.Op) []engine.Decision {
	c.t.Helper()
	var b *engine.Batch
	var err error
	eventually(c.t, "a decision", func() bool {
		b = &engine.Batch{Ops: ops}
		err = exec(n, b)
		return err == nil || errors.Is(err, errUncertain)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return b.Decisions
}

// save takes a snapshot of a node.
func (c *testCluster) save(n *Node) {
	c.t.Helper()
	done := make(chan error, 1)
	var err error
	eventually(c.t, "no other snapshot is being taken", func() bool {
		err = n.Save(func(err error) { done <- err })
		return !errors.Is(err, persist.ErrSaving)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := <-done; err != nil {
		c.t.Fatal(err)
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, nil)
	leader := c.leader()
	c.takeAll(leader, "")
	c.waitForAgreement()
	c.save(c.nodes[0])
	c.takeAll(leader, " again")
	c.waitForAgreement()
	_, digest := c.nodes[0].Digest()
	all := slices.Clone(c.nodes)
	was := c.nodes[0].identity()
	for _, n := range all {
		c.close(n)
	}
	o := c.options(all[0].o.Dir, freeAddresses(t, 1)[0])
	found, err := offline.Inspect(offlineOptions(o))
	if err != nil || found.Keys != int64(2*len(everyAlgorithm)) || found.Cluster != was.Cluster.String() ||
		found.Node != was.Node ||
		len(found.Servers) != 3 || found.LastIndex < 3 || found.Term == 0 || found.LostTail ||
		found.Age(time.Now()) > time.Hour {
		t.Fatalf("it has %+v, %v", found, err)
	}
	to := filepath.Join(t.TempDir(), "new")
	again, err := offline.Recover(offlineOptions(o), to)
	if err != nil || again.LastIndex != found.LastIndex {
		t.Fatalf("recovered %+v, %v", again, err)
	}
	if same, err := offline.Inspect(offlineOptions(o)); err != nil || same.Node != found.Node ||
		same.LastIndex != found.LastIndex {
		t.Errorf("the old directory has %+v, %v, want %+v", same, err, found)
	}
	o.Dir = to
	n := c.open(o)
	c.nodes = append(c.nodes, n)
	if term := c.leader().Replication().Term; term <= found.Term {
		t.Errorf("it leads in term %d, and the last entry was of %d", term, found.Term)
	}
	if _, got := n.Digest(); got != digest {
		t.Errorf("the state is %x, and was %x", got, digest)
	}
	if id := n.identity(); id.Cluster == was.Cluster || id.Node == was.Node {
		t.Errorf("it still is %v", id)
	}
	stranger := c.open(all[1].o)
	if err := stranger.ask(o.Raft, callHello, struct{}{}, nil); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("a node of the old cluster gets %v", err)
	}
	j := c.options(t.TempDir(), freeAddresses(t, 1)[0])
	j.Join = []string{o.Raft}
	c.nodes = append(c.nodes, c.open(j))
	c.voters(2)
	c.takeAll(c.nodes[1], " at last")
	c.waitForAgreement()
}

// voters waits until the leader has that many voters, and no other members.
func (c *testCluster) voters(count int) {
	c.t.Helper()
	eventually(c.t, "the voters", func() bool {
		voters, others := 0, 0
		for _, m := range c.leader().Nodes("") {
			if m.Voter {
				voters++
			} else {
				others++
			}
		}
		return voters == count && others == 0
	})
}

// An interrupted Recover makes no directory, leaves the source unchanged, and can be
// repeated.
func TestRecoverInterrupted(t *testing.T) {
	t.Parallel()
	c, n := stoppedNode(t)
	before, err := offline.Inspect(offlineOptions(c.options(n.o.Dir, n.o.Raft)))
	if err != nil {
		t.Fatal(err)
	}
	for kind, raft := range map[offline.RemnantKind]string{offline.OfMember: n.o.Raft, offline.OfBackup: ""} {
		c.interrupt(n.o.Dir, raft, before, kind)
	}
}

// interrupt fails each write of a Recover, and all later writes.
func (c *testCluster) interrupt(dir, address string, before offline.Remnant, kind offline.RemnantKind) {
	t := c.t
	t.Helper()
	broken := errors.New("the test breaks the disk")
	to := filepath.Join(t.TempDir(), "to")
	finished, failed := false, 0
	for writes := int64(0); !finished; writes++ {
		o := c.options(dir, address)
		var left atomic.Int64
		left.Store(writes)
		fault := func() error {
			if left.Add(-1) < 0 {
				return broken
			}
			return nil
		}
		o.fs = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose {
				return nil
			}
			return fault()
		}))
		o.stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) {
			stable, snapshots, err := storage.OpenStores(dir, 0, newRaftLogger(c.options("", "").Logger))
			return stable, breakingSnapshots{snapshots, fault}, err
		}
		_, err := offline.Recover(offlineOptions(o), to)
		made, errMade := offline.Inspect(offlineOptions(c.options(to, address)))
		if errMade == nil && (made.Keys != before.Keys || made.Stamp != before.Stamp || made.LastIndex != before.LastIndex ||
			made.Kind != kind) {
			t.Fatalf("after %d writes and %v there is %+v, want %+v", writes, err, made, before)
		}
		if finished = err == nil; finished && (errMade != nil || made.Cluster == before.Cluster &&
			kind == offline.OfMember || made.Node == before.Node && kind == offline.OfMember) {
			t.Fatalf("it made %+v, %v, of %+v", made, errMade, before)
		}
		if !finished {
			failed++
		}
		if errMade == nil {
			os.RemoveAll(to) // the last sync failed
		} else if _, err := os.Stat(to); err == nil {
			t.Fatalf("after %d writes there is half of a directory: %v", writes, errMade)
		}
		if now, err := offline.Inspect(offlineOptions(c.options(dir, address))); err != nil ||
			!reflect.DeepEqual(now, before) {
			t.Fatalf("after %d writes the old directory has %+v, %v, and had %+v", writes, now, err, before)
		}
	}
	if failed < 10 {
		t.Errorf("only %d writes could fail", failed)
	}
}

// breakingSnapshots fails to create a snapshot, or to finish it, if fault is set so.
type breakingSnapshots struct {
	raft.SnapshotStore
	fault func() error
}

func (b breakingSnapshots) Create(version raft.SnapshotVersion, index, term uint64, servers raft.Configuration,
	serversIndex uint64, transport raft.Transport) (raft.SnapshotSink, error) {
	if err := b.fault(); err != nil {
		return nil, err
	}
	sink, err := b.SnapshotStore.Create(version, index, term, servers, serversIndex, transport)
	return breakingSink{sink, b.fault}, err
}

type breakingSink struct {
	raft.SnapshotSink
	fault func() error
}

func (b breakingSink) Write(data []byte) (int, error) {
	if err := b.fault(); err != nil {
		return 0, err
	}
	return b.SnapshotSink.Write(data)
}

func (b breakingSink) Close() error {
	if err := b.fault(); err != nil {
		return err
	}
	return b.SnapshotSink.Close()
}

func TestRecoverRejects(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	n := c.leader()
	unused := c.options(filepath.Join(t.TempDir(), "not there"), n.o.Raft)
	for what, o := range map[string]Options{
		"a directory in use":      n.o,
		"a missing directory":     unused,
		"an address without host": c.options(n.o.Dir, ":7000"),
	} {
		if _, err := offline.Recover(offlineOptions(o), filepath.Join(t.TempDir(), "to")); err == nil {
			t.Errorf("%s is recovered", what)
		}
	}
	if _, err := os.Stat(unused.Dir); err == nil {
		t.Errorf("%s was made", unused.Dir)
	}
	addresses := freeAddresses(t, 2)
	alone := c.options(t.TempDir(), addresses[0])
	alone.Peers = addresses // the other never starts
	c.close(c.open(alone))
	if _, err := offline.Recover(offlineOptions(alone), filepath.Join(t.TempDir(), "to")); err == nil ||
		!strings.Contains(err.Error(), "not in a cluster yet") {
		t.Errorf("a node of no cluster yet is recovered: %v", err)
	}
}
