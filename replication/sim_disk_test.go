package replication

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
)

// A simDisk is a process's view of a machine's disk: files, and raft's stores, which are
// simulated as a unit. It can fail, hang and fill up, and be crashed.
type simDisk struct {
	fault *simFault
	files *linkedFS
	fs    vfs.FS // files, with faults

	mu     sync.Mutex
	stores map[string]simStores // by directory
	boots  int                  // of the machine
}

type simStores struct {
	stable    *simStable
	snapshots *simSnapshots
}

func newSimDisk() *simDisk { return simDiskOf(vfs.NewCrashableMem()) }

func simDiskOf(files *vfs.MemFS) *simDisk {
	d := &simDisk{fault: newSimFault(), files: &linkedFS{MemFS: files}, stores: map[string]simStores{}}
	d.fs = errorfs.Wrap(d.files, d.fault)
	return d
}

// open is for Options.stores.
func (d *simDisk) open(dir string) (raft.StableStore, raft.SnapshotStore, error) {
	if err := d.fault.access(true); err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.stores[dir]
	if !ok {
		s = simStores{&simStable{fault: d.fault, values: map[string][]byte{}}, &simSnapshots{fault: d.fault}}
		d.stores[dir] = s
	}
	return s.stable, s.snapshots, nil
}

// boot is for Options.boot.
func (d *simDisk) boot() string { return fmt.Sprint("boot ", d.boots) }

// crashed returns the disk as the next process finds it, with that percentage of the
// unsynced data: 100 if only the process ended. Later writes of the old process do not
// affect it.
func (d *simDisk) crashed(percent int, rng *rand.Rand) *simDisk {
	d.files.mu.Lock()
	files := d.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(rng.Uint64(), 7))})
	d.files.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	after := simDiskOf(files)
	after.boots = d.boots
	if percent < 100 {
		after.boots++
	}
	for dir, s := range d.stores {
		after.stores[dir] = simStores{
			&simStable{fault: after.fault, values: s.stable.clone()},
			&simSnapshots{fault: after.fault, complete: s.snapshots.clone()},
		}
	}
	return after
}

// A linkedFS can be cloned while files are linked: Pebble v2.1.7 takes a lock that
// CrashClone waits for twice in a Link.
type linkedFS struct {
	*vfs.MemFS
	mu sync.Mutex
}

func (l *linkedFS) Link(from, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.MemFS.Link(from, to)
}

// A simFault decides the result of each access to a disk.
type simFault struct {
	mu      sync.Mutex
	change  sync.Cond
	hanging bool
	err     error // of writes
	left    int   // writes that succeed before err
	failed  int   // number of failed writes
}

func newSimFault() *simFault {
	f := &simFault{}
	f.change.L = &f.mu
	return f
}

// failWrites makes writes fail after some more; nil ends that.
func (f *simFault) failWrites(after int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.err = after, err
}

// setHang makes all accesses block, or releases them.
func (f *simFault) setHang(hang bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hanging = hang
	f.change.Broadcast()
}

func (f *simFault) access(write bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.hanging {
		f.change.Wait()
	}
	switch {
	case !write || f.err == nil:
		return nil
	case f.left > 0:
		f.left--
		return nil
	}
	f.failed++
	return f.err
}

// MaybeError implements errorfs.Injector. A full disk does not prevent closing or removing
// files.
func (f *simFault) MaybeError(op errorfs.Op) error {
	full := errors.Is(f.now(), syscall.ENOSPC)
	switch op.Kind {
	case errorfs.OpFileClose:
		return nil
	case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpLock:
		return f.access(!full)
	}
	return f.access(op.Kind.ReadOrWrite() == errorfs.OpIsWrite)
}

func (f *simFault) now() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// String implements errorfs.Injector.
func (f *simFault) String() string { return "simulated disk" }

// A simStable is a raft.StableStore with synced writes.
type simStable struct {
	fault  *simFault
	mu     sync.Mutex
	values map[string][]byte
}

func (s *simStable) clone() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

func (s *simStable) Set(key, value []byte) error {
	if err := s.fault.access(true); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[string(key)] = bytes.Clone(value)
	return nil
}

// Get implements raft.StableStore. Raft recognizes a missing key by the text.
func (s *simStable) Get(key []byte) ([]byte, error) {
	if err := s.fault.access(false); err != nil {
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

// simSnapshots is a raft.SnapshotStore that keeps the last two. Incomplete ones are gone
// after a crash.
type simSnapshots struct {
	fault    *simFault
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
	if err := s.fault.access(true); err != nil {
		return nil, err
	}
	meta := raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term,
		Configuration: configuration.Clone(), ConfigurationIndex: configurationIndex,
	}
	return &simSink{store: s, snapshot: &simSnapshot{meta: meta}}, nil
}

func (s *simSnapshots) List() ([]*raft.SnapshotMeta, error) {
	if err := s.fault.access(false); err != nil {
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
	if err := s.fault.access(false); err != nil {
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
	if err := k.store.fault.access(true); err != nil {
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
	if err := k.store.fault.access(true); err != nil {
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
