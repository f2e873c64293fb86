package persist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// A BlockSource is the frozen state of an engine. Next appends the next block of a shard
// to dst and returns it with the hash of its first key; hashes ascend within a shard and
// from shard to shard. Concurrency: different shards may be read at once. An
// engine.Snapshot is a BlockSource.
type BlockSource interface {
	Shards() int
	Keys() int64
	Next(shard int, dst []byte) (block []byte, first uint64, ok bool)
	// Crowded reports whether the blocks that are not read yet need much memory, so that they
	// should be read without pauses.
	Crowded() bool
}

// A BlockSink loads the blocks of a [BlockSource]: the blocks of a shard in order,
// different shards at once. It must not keep the block. An engine.Engine is a BlockSink.
type BlockSink interface {
	Load(block []byte) error
}

// Progress is called periodically with an estimate of the keys done, and the bytes of
// blocks done. Calls do not overlap.
type Progress func(doneKeys, allKeys, bytes int64)

// Meta describes the state that a snapshot holds.
type Meta struct {
	LogDir   string         `json:"log_dir"`        // the log that continues from the snapshot
	LogIndex uint64         `json:"log_index"`      // of the last entry included in the snapshot
	Now      engine.Instant `json:"now"`            // the engine's time
	Told     int64          `json:"told,omitempty"` // engine.Snapshot.Told
	Seed     Seed           `json:"seed"`           // of the hashes that order the blocks
	Taken    time.Time      `json:"taken"`          // by the node's clock, for people
}

// Info describes a complete snapshot.
type Info struct {
	Meta
	Generation uint64 `json:"generation"` // snapshots are numbered from 1
	Keys       int64  `json:"keys"`
	Rows       int64  `json:"rows"`  // one row is one block
	Bytes      int64  `json:"bytes"` // of blocks, before compression
	// Shards are the shards of the source; their rows and bytes add up to the totals above.
	Shards []ShardInfo `json:"shards"`
}

// ShardInfo holds the expected contents of a shard of a snapshot.
type ShardInfo struct {
	First uint64 `json:"first"` // hash of its first row
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Sum   uint32 `json:"sum"` // chained over the checksums of its rows
}

// SnapshotOptions configures Snapshots.
type SnapshotOptions struct {
	// Logger receives failures that are not returned as errors; nil discards them.
	Logger *slog.Logger
	// Reserve is the number of bytes that a Write must leave free on the disk. Otherwise the Write
	// is not begun, or is abandoned, with a *NoRoomError.
	Reserve int64
}

// Snapshots is the directory of snapshots of a node: rows in a Pebble store, and for each
// complete generation of rows a record, which is a sealed file. Rows without a record are
// ignored.
//
// The store is open only during an operation, and read-only if the operation only reads. So
// no goroutine remains, a failure of Pebble ends with the call that met it, and reading
// changes no file.
//
// Concurrency: any goroutine may call any method; those that use the store are
// serialised.
type Snapshots struct {
	fs   vfs.FS
	dir  string
	log  *slog.Logger
	rest int64 // SnapshotOptions.Reserve
	lock io.Closer
	mu   sync.Mutex // held while the store is in use

	hurry atomic.Bool // if true, Write does not pause
}

// Hurry sets whether Write works without pauses, for example when nothing else needs the
// machine. It also takes effect on a Write that is under way.
func (s *Snapshots) Hurry(on bool) { s.hurry.Store(on) }

// Names in the directory.
const (
	storeName   = "store"   // the Pebble store
	stagingName = "staging" // tables that are not ingested yet
)

// OpenSnapshots locks a directory for this process until Close, and creates it if it does not
// exist. It removes the files of an unfinished Write of an earlier process. It reads no snapshot.
func OpenSnapshots(fsys vfs.FS, dir string, o SnapshotOptions) (*Snapshots, error) {
	if err := MakeDir(fsys, dir); err != nil {
		return nil, fmt.Errorf("create snapshot directory %s: %w", dir, err)
	}
	lock, err := fsys.Lock(fsys.PathJoin(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock snapshot directory %s: %w", dir, err)
	}
	s := newSnapshots(fsys, dir, o)
	s.lock = lock
	if err := s.removeIncomplete(); err != nil {
		return nil, errors.Join(fmt.Errorf("remove incomplete snapshots: %w", err), lock.Close())
	}
	return s, nil
}

func newSnapshots(fsys vfs.FS, dir string, o SnapshotOptions) *Snapshots {
	return &Snapshots{fs: fsys, dir: dir, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), rest: o.Reserve}
}

// Close waits for operations that are under way and unlocks the directory.
func (s *Snapshots) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock.Close()
}

// Latest returns the newest complete snapshot, if there is a snapshot. It returns an error
// if the record of the newest cannot be read, even if there is an older snapshot: see All.
func (s *Snapshots) Latest() (Info, bool, error) {
	generations, err := s.generations()
	if err != nil || len(generations) == 0 {
		return Info{}, false, err
	}
	info, err := s.readRecord(generations[0])
	return info, err == nil, err
}

// All returns the complete snapshots with readable records, the newest first, and an error
// for unreadable records. There is more than one snapshot only after a crash or failure
// between completing a snapshot and removing its predecessor.
func (s *Snapshots) All() ([]Info, error) {
	generations, err := s.generations()
	if err != nil {
		return nil, err
	}
	var (
		all      []Info
		failures []error
	)
	for _, generation := range generations {
		info, err := s.readRecord(generation)
		if isMissing(err) { // removed since
			continue
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		all = append(all, info)
	}
	return all, errors.Join(failures...)
}

// Drop removes a snapshot, damaged or not.
func (s *Snapshots) Drop(ctx context.Context, generation uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	generations, err := s.generations()
	if err != nil {
		return err
	}
	if !slices.Contains(generations, generation) {
		return fmt.Errorf("there is no snapshot %d in %s", generation, s.dir)
	}
	if err := s.removeRecords([]uint64{generation}); err != nil {
		return err
	}
	return s.withStore(forWriting, func(store *store) error {
		return store.removeRows(ctx, generation, generation)
	})
}

// DiskBytes returns the total size of all files in the directory.
func (s *Snapshots) DiskBytes() (int64, error) { return diskBytes(s.fs, s.dir) }

func diskBytes(fsys vfs.FS, name string) (int64, error) {
	stat, err := fsys.Stat(name)
	if isMissing(err) { // removed since
		return 0, nil
	}
	if err != nil || !stat.IsDir() {
		if err != nil {
			return 0, err
		}
		return stat.Size(), nil
	}
	names, err := fsys.List(name)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, below := range names {
		bytes, err := diskBytes(fsys, fsys.PathJoin(name, below))
		if err != nil {
			return 0, err
		}
		sum += bytes
	}
	return sum, nil
}
