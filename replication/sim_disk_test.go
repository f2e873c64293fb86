package replication

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"sync"

	"github.com/hashicorp/raft"

	"limitsrv/internal/testing/simtest"
)

// A simDisk is a disk that simulates raft's stores as a unit.
type simDisk struct {
	*simtest.Disk
	mu     sync.Mutex
	stores map[string]simStores // by directory
}

type simStores struct {
	stable    *simStable
	snapshots *simSnapshots
}

func newSimDisk() *simDisk { return &simDisk{Disk: simtest.NewDisk(), stores: map[string]simStores{}} }

// open is for Options.stores.
func (d *simDisk) open(dir string) (raft.StableStore, raft.SnapshotStore, error) {
	if err := d.Fault.Access(true); err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.stores[dir]
	if !ok {
		s = simStores{&simStable{fault: d.Fault, values: map[string][]byte{}}, &simSnapshots{fault: d.Fault}}
		d.stores[dir] = s
	}
	return s.stable, s.snapshots, nil
}

// crashed is Disk.Crashed, with the stores.
func (d *simDisk) crashed(percent int, rng *rand.Rand) *simDisk {
	after := &simDisk{Disk: d.Crashed(percent, rng), stores: map[string]simStores{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir, s := range d.stores {
		after.stores[dir] = simStores{
			&simStable{fault: after.Fault, values: s.stable.clone()},
			&simSnapshots{fault: after.Fault, complete: s.snapshots.clone()},
		}
	}
	return after
}

// A simStable is a raft.StableStore with synced writes.
type simStable struct {
	fault  *simtest.Fault
	mu     sync.Mutex
	values map[string][]byte
}

func (s *simStable) clone() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

func (s *simStable) Set(key, value []byte) error {
	if err := s.fault.Access(true); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[string(key)] = bytes.Clone(value)
	return nil
}

// Get implements raft.StableStore. Raft recognizes a missing key by the text.
func (s *simStable) Get(key []byte) ([]byte, error) {
	if err := s.fault.Access(false); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.values[string(key)]; ok {
		return bytes.Clone(value), nil
	}
	return nil, errors.New("not found")
}

func (s *simStable) SetUint64(key []byte, value uint64) error {
	return s.Set(key, fmt.Append(nil, value))
}

func (s *simStable) GetUint64(key []byte) (value uint64, err error) {
	text, err := s.Get(key)
	if err == nil {
		_, err = fmt.Sscan(string(text), &value)
	}
	return value, err
}

// simSnapshots is a raft.SnapshotStore that keeps the last two snapshots. Incomplete
// snapshots are gone after a crash.
type simSnapshots struct {
	fault    *simtest.Fault
	mu       sync.Mutex
	complete []*simSnapshot // oldest first
}

const simSnapshotsKept = 2

type simSnapshot struct {
	meta raft.SnapshotMeta
	data []byte
}

func (s *simSnapshots) clone() []*simSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*simSnapshot(nil), s.complete...)
}

func (s *simSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	if err := s.fault.Access(true); err != nil {
		return nil, err
	}
	meta := raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term,
		Configuration: configuration.Clone(), ConfigurationIndex: configurationIndex,
	}
	return &simSink{store: s, snapshot: &simSnapshot{meta: meta}}, nil
}

func (s *simSnapshots) List() ([]*raft.SnapshotMeta, error) {
	if err := s.fault.Access(false); err != nil {
		return nil, err
	}
	var metas []*raft.SnapshotMeta
	for _, snapshot := range s.clone() {
		meta := snapshot.meta
		metas = append([]*raft.SnapshotMeta{&meta}, metas...)
	}
	return metas, nil
}

func (s *simSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	if err := s.fault.Access(false); err != nil {
		return nil, nil, err
	}
	for _, snapshot := range s.clone() {
		if meta := snapshot.meta; meta.ID == id {
			return &meta, io.NopCloser(bytes.NewReader(snapshot.data)), nil
		}
	}
	return nil, nil, fmt.Errorf("there is no snapshot %s", id)
}

// A simSink is a snapshot that is being written.
type simSink struct {
	store    *simSnapshots
	snapshot *simSnapshot
	over     bool
}

func (k *simSink) ID() string { return k.snapshot.meta.ID }

func (k *simSink) Write(p []byte) (int, error) {
	if err := k.store.fault.Access(true); err != nil {
		return 0, err
	}
	k.snapshot.data = append(k.snapshot.data, p...)
	return len(p), nil
}

func (k *simSink) Close() error {
	if k.over {
		return nil
	}
	k.over = true
	if err := k.store.fault.Access(true); err != nil {
		return err
	}
	k.snapshot.meta.Size = int64(len(k.snapshot.data))
	s := k.store
	s.mu.Lock()
	defer s.mu.Unlock()
	complete := append([]*simSnapshot(nil), s.complete...)
	i := len(complete)
	for i > 0 && complete[i-1].meta.Index > k.snapshot.meta.Index {
		i--
	}
	complete = append(complete[:i], append([]*simSnapshot{k.snapshot}, complete[i:]...)...)
	s.complete = complete[max(0, len(complete)-simSnapshotsKept):]
	return nil
}

func (k *simSink) Cancel() error {
	k.over = true
	return nil
}
