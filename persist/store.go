package persist

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// Options configure a Store.
type Options struct {
	// Dir is the data directory. It is made if it is missing.
	Dir string
	// FS is where Dir is; nil is the system's own.
	FS     vfs.FS
	Policy Policy
	// Engine are the options of the engine but for its Seed, which is the directory's.
	Engine engine.Options
	Clock  Clock
	Logger *slog.Logger
	// SnapshotLogBytes is how long the log may grow before a snapshot is taken, or
	// half of the last snapshot if that is more; 0 means DefaultSnapshotLogBytes.
	SnapshotLogBytes int64
	// SegmentBytes is the size of the log's files, which go as a whole when a snapshot
	// replaces them; 0 means the log's default, or a quarter of SnapshotLogBytes if
	// that is less.
	SegmentBytes int64
	// HangAfter is how long a write may take before the disk counts as failed; 0
	// means a second.
	HangAfter time.Duration
	// RetryEvery is how long to wait before a failed disk is tried again; it
	// doubles with each failure, up to 32 times. 0 means a second.
	RetryEvery time.Duration

	// For tests; 0 or nil is the usual.
	boot      func() string
	quickKeys int64
}

// DefaultSnapshotLogBytes is how long a log may grow: some seconds of replaying.
const DefaultSnapshotLogBytes = 128 << 20

func (o *Options) setDefaults() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SnapshotLogBytes == 0 {
		o.SnapshotLogBytes = DefaultSnapshotLogBytes
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = min(defaultSegmentBytes, max(minSegmentBytes, o.SnapshotLogBytes/4))
	}
	if o.HangAfter == 0 {
		o.HangAfter = time.Second
	}
	if o.RetryEvery == 0 {
		o.RetryEvery = time.Second
	}
	if o.quickKeys == 0 {
		o.quickKeys = quickKeys
	}
	if o.boot == nil {
		o.boot = BootID
	}
}

// A Clock tells the time of decisions. It never goes back. Many may call it.
type Clock interface{ Now() engine.Instant }

// A Store is the engine of one node with a log and snapshots: it decides, and
// what it has decided outlives the process. It is an Exec. All methods may be
// called by many at once, but for Recover, which comes before the first Exec, and
// Close, which comes last.
//
// Whoever changes the engine's state holds mu and reads the clock under it. So
// the order in the log is the order of the decisions, and a replay at the log's
// stamps decides as it was decided.
type Store struct {
	o         Options
	dir       *Dir
	snapshots *Snapshots
	engine    *engine.Engine
	order     order

	mu      sync.Mutex
	flights []engine.Instant // the stamps of what is logged and not yet applied
	failing bool             // as failure; guarded by mu
	bound   bound            // of the engine's memory; guarded by mu

	// disk is held by whoever appends to the log or replaces it.
	disk baton
	log  atomic.Pointer[Log] // changed by the holder of disk

	failure   atomic.Pointer[Failure]
	fails     atomic.Pointer[chan struct{}] // closed at the next failure
	diskWatch *DiskWatch
	appending *Stopwatch    // of appends to the log
	slow      bool          // a slow sync has been told; watch alone
	unsynced  atomic.Int64  // since when the log has what is not on disk, as Unix nanoseconds; 0: it has not
	calls     chan struct{} // for attend; has room for one
	saver     saver
	loading   Loading
	counts    counters

	stopping context.Context
	stop     context.CancelFunc
	// saving ends before stopping, with the snapshots that nobody asked for with Close.
	saving  context.Context
	giveUps context.CancelFunc
	wait    sync.WaitGroup
}

// An order is how decisions and the log follow on each other: the log first
// (logAhead) or the decisions first (logBehind).
type order interface {
	exec(batch *engine.Batch, done func(error))
	commit()
	// cut, called with disk and mu held, returns when all that is in the log has been
	// carried out. What it returns is to be called without mu, and puts what had been
	// carried out by then into the log.
	cut() (finish func() error)
	// fail is told, with mu held, that the disk has failed. It returns what is to be
	// called without mu.
	fail(*Failure) func()
}

// A bound is what Engine.SetBound takes.
type bound struct {
	maxMemory int64
	evict     bool
}

// counters are totals since the start.
type counters struct {
	changes  atomic.Int64 // ops that changed something
	unlogged atomic.Int64 // ops carried out while the disk failed
	delayed  atomic.Int64 // syncs that took long
}

// Open takes the directory for this process. Nothing of its state is read before
// Recover.
func Open(o Options) (*Store, error) {
	o.setDefaults()
	dir, err := OpenDir(o.FS, o.Dir)
	if err != nil {
		return nil, withHint(err, o.Dir)
	}
	if err := dir.refuseMember(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	o.Engine.Seed = dir.Seed
	s := &Store{o: o, dir: dir, engine: engine.New(o.Engine), disk: newBaton(), bound: bound{o.Engine.MaxMemory, o.Engine.Evict}}
	s.diskWatch = NewDiskWatch()
	s.appending = s.diskWatch.Stopwatch()
	s.calls = make(chan struct{}, 1)
	s.rearm()
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.saving, s.giveUps = context.WithCancel(s.stopping)
	if o.Policy == Always {
		s.order = newLogAhead(s)
	} else {
		s.order = newLogBehind(s)
	}
	return s, nil
}

// Engine is the engine: for reads that are no ops. Nobody but the Store may
// change its state.
func (s *Store) Engine() *engine.Engine { return s.engine }

// Exec decides about a batch. Under Always it calls done when the batch is on
// disk, from another goroutine, or with an error that has a Code: a *Failure, or that
// the decision may or may not have been applied. Otherwise it calls done before it returns, and what was decided is to be answered after Commit.
// Batches that change nothing wait for no disk.
func (s *Store) Exec(batch *engine.Batch, done func(error)) { s.order.exec(batch, done) }

// Commit sees to it that whatever its caller has executed is in the log's files,
// so that it survives the process; under Always it only says that the caller has no
// more for now. If the disk hangs it waits for about Options.HangAfter; but see
// logBehind for a disk that hangs while nothing is synced.
func (s *Store) Commit() { s.order.commit() }

// SetBound is Engine.SetBound, but holds from the end of Recover on only: what was
// decided before the restart is not refused again.
func (s *Store) SetBound(maxMemory int64, evict bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = bound{maxMemory, evict}
	if s.loading.Done.Load() {
		s.engine.SetBound(maxMemory, evict)
	}
}

// sweptAtOnce is how many pages Sweep looks at before it lets others go first.
const sweptAtOnce = 8

// Sweep is Engine.Sweep.
func (s *Store) Sweep(pages int) (forgotten int64) {
	for ; pages > 0; pages -= sweptAtOnce {
		s.mu.Lock()
		forgotten += s.engine.Sweep(s.now(), min(pages, sweptAtOnce))
		s.mu.Unlock()
	}
	return forgotten
}

// now is the time for whatever touches the engine: the clock's, but no later than
// the stamp of what is yet to be applied. mu is held.
func (s *Store) now() engine.Instant {
	now := s.o.Clock.Now()
	if len(s.flights) > 0 {
		return min(s.flights[0], now)
	}
	return now
}

// look carries out a batch that changes nothing.
func (s *Store) look(batch *engine.Batch, done func(error)) {
	s.mu.Lock()
	s.engine.Apply(s.now(), batch)
	s.mu.Unlock()
	done(nil)
}
