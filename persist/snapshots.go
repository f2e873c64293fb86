package persist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// A BlockSource is a point in time of an engine, to be written. Next appends the
// next block of a shard to dst and returns it with the hash of the first key in
// it; hashes go up within a shard and from shard to shard. Different shards may
// be read at once. An engine.Snapshot is one.
type BlockSource interface {
	Shards() int
	Keys() int64
	Next(shard int, dst []byte) (block []byte, first uint64, ok bool)
}

// A BlockSink takes back what a BlockSource gave, each shard's blocks in order
// and different shards at once. It must not keep the block. An engine is one.
type BlockSink interface {
	Load(block []byte) error
}

// Progress is told from time to time how far it is; done keys are an estimate,
// bytes are of blocks. It is not called by two at once.
type Progress func(doneKeys, allKeys, bytes int64)

// Meta is what a snapshot is of.
type Meta struct {
	LogDir   string         `json:"log_dir"`   // the log that goes on where the snapshot ends
	LogIndex uint64         `json:"log_index"` // of the last entry that the snapshot holds
	Now      engine.Instant `json:"now"`       // the engine's time
	Seed     Seed           `json:"seed"`      // of the hashes that the blocks are ordered by
	Taken    time.Time      `json:"taken"`     // by the clock, for people
}

// Info is one complete snapshot.
type Info struct {
	Meta
	Generation uint64 `json:"generation"` // snapshots are numbered from 1
	Keys       int64  `json:"keys"`
	Rows       int64  `json:"rows"`  // one row is one block
	Bytes      int64  `json:"bytes"` // of blocks, before compression
	// Shards are those of the source; what they hold adds up to the above.
	Shards []ShardInfo `json:"shards"`
}

// ShardInfo is what one shard of a snapshot must turn out to hold.
type ShardInfo struct {
	First uint64 `json:"first"` // hash that its first row begins at
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Sum   uint32 `json:"sum"` // chained over the checksums of its rows
}

// SnapshotOptions configure Snapshots.
type SnapshotOptions struct {
	// Logger is told of what can not be returned as an error; nil means nobody.
	Logger *slog.Logger
}

// Snapshots are the snapshots of one node, in a directory of their own: rows in
// a Pebble store, and for each complete generation of rows a record, a sealed
// file. Rows without a record count for nothing.
//
// The store is open only while something is done with it, for reading only if
// that is all that is wanted: so no goroutine is left behind, whatever goes
// wrong in it ends with the call that met it, and reading changes no file. All
// methods may be called by many at once; those that use the store wait for each
// other.
type Snapshots struct {
	fs   vfs.FS
	dir  string
	log  *slog.Logger
	lock io.Closer
	mu   sync.Mutex // held while the store is in use

	hurry atomic.Bool // Write does not rest
}

// Hurry says whether Write works without rests, as where nobody else needs the
// machine. It holds at once, also for a Write that is under way.
func (s *Snapshots) Hurry(on bool) { s.hurry.Store(on) }

// The names in the directory.
const (
	storeName   = "store"   // the Pebble store
	stagingName = "staging" // tables that are not in the store yet
)

// OpenSnapshots takes a directory for this process until Close; it is made if it
// is not there. What is in it is not read yet.
func OpenSnapshots(fsys vfs.FS, dir string, o SnapshotOptions) (*Snapshots, error) {
	if err := MakeDir(fsys, dir); err != nil {
		return nil, fmt.Errorf("make snapshot directory %s: %w", dir, err)
	}
	lock, err := fsys.Lock(fsys.PathJoin(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock snapshot directory %s: %w", dir, err)
	}
	s := newSnapshots(fsys, dir, o)
	s.lock = lock
	return s, nil
}

func newSnapshots(fsys vfs.FS, dir string, o SnapshotOptions) *Snapshots {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Snapshots{fs: fsys, dir: dir, log: o.Logger}
}

// Close waits for what is under way and leaves the directory to others.
func (s *Snapshots) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock.Close()
}

// Latest is the newest complete snapshot, if there is one. If its record can not
// be read that is an error, even if there is an older one: see All.
func (s *Snapshots) Latest() (Info, bool, error) {
	generations, err := s.generations()
	if err != nil || len(generations) == 0 {
		return Info{}, false, err
	}
	info, err := s.readRecord(generations[0])
	return info, err == nil, err
}

// All are the complete snapshots whose records can be read, the newest first,
// and an error for those that can not. There is more than one only after a crash
// or a failure between the end of one and the removal of another.
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
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
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

// Drop removes a snapshot, be it damaged or not.
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

// DiskBytes is what all files in the directory hold together.
func (s *Snapshots) DiskBytes() (int64, error) { return diskBytes(s.fs, s.dir) }

func diskBytes(fsys vfs.FS, name string) (int64, error) {
	stat, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
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
