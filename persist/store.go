package persist

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// Options configures a Store.
type Options struct {
	// Dir is the data directory. It is created if it is missing.
	Dir string
	// FS is the file system of Dir; nil means the operating system's.
	FS     vfs.FS
	Policy Policy
	// Engine configures the engine. Its Seed is ignored: the directory has its own. Its
	// MaxMemory and Evict are the arguments of SetBound.
	Engine engine.Options
	// Notices, unless nil, get and send the messages of the calls; a replay has no Notices.
	Notices *engine.Notices
	Clock   Clock
	Logger  *slog.Logger
	// SnapshotLogBytes is the size of the log that triggers a snapshot, unless half the
	// size of the last snapshot is larger; 0 means DefaultSnapshotLogBytes.
	SnapshotLogBytes int64
	// SegmentBytes is the size of the log's files, which are deleted whole when a
	// snapshot replaces them; 0 means the log's default, or a quarter of SnapshotLogBytes
	// if that is less.
	SegmentBytes int64
	// HangAfter is the duration of a write that makes the disk count as failed; 0 means a
	// second.
	HangAfter time.Duration
	// RetryEvery is the pause before the first retry on a failed disk; it doubles with
	// each failure, up to a factor of 32. 0 means a second.
	RetryEvery time.Duration

	// For tests; 0 or nil means the default.
	boot      func() string
	quickKeys int64
	quickSave time.Duration
	// beforeAppend is called with each entry before it is appended.
	beforeAppend func(log string, index uint64, entry []byte)
}

// DefaultSnapshotLogBytes takes some seconds to replay.
const DefaultSnapshotLogBytes = 128 << 20

func (o *Options) setDefaults() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.SnapshotLogBytes = cmp.Or(o.SnapshotLogBytes, DefaultSnapshotLogBytes)
	o.SegmentBytes = cmp.Or(o.SegmentBytes, min(defaultSegmentBytes, max(minSegmentBytes, o.SnapshotLogBytes/4)))
	o.HangAfter = cmp.Or(o.HangAfter, time.Second)
	o.RetryEvery = cmp.Or(o.RetryEvery, time.Second)
	o.quickKeys = cmp.Or(o.quickKeys, quickKeys)
	o.quickSave = cmp.Or(o.quickSave, quickSave)
	if o.boot == nil {
		o.boot = BootID
	}
}

// A Clock returns the time for decisions. It never goes back. Concurrency: any goroutine
// may call Now.
type Clock interface{ Now() engine.Instant }

// A Store is the engine of a node with a log and snapshots: its decisions survive the
// process. It implements backend.Exec.
//
// Concurrency: all methods may be called at any time, except Recover, which must return
// before the first Exec, and Close, which must come last.
//
// mu must be held while the state of the engine is changed, and the clock is read under
// it. So log order is decision order, and a replay at the logged stamps makes the same
// decisions.
type Store struct {
	o         Options
	dir       *Dir
	snapshots *Snapshots
	engine    *engine.Engine
	pipeline  *pipeline

	mu       sync.Mutex
	inFlight []engine.Instant // stamps of groups that are logged and not yet applied
	failing  bool             // batches are rejected or not logged because the disk failed; guarded by mu
	bound    engine.Bound     // guarded by mu

	// logMu is held while the log is appended to or replaced.
	logMu timedMutex
	log   atomic.Pointer[Log] // changed with logMu held

	failure      atomic.Pointer[Failure]
	failedCh     atomic.Pointer[chan struct{}] // closed at the next failure
	diskWatch    *DiskWatch
	appending    *Stopwatch   // measures appends to the log
	slowLogged   bool         // a slow sync has been logged; used by checkDisk alone
	unsynced     atomic.Int64 // since when the log has unsynced entries, as Unix nanoseconds; 0: there are no such entries
	maintainWake signal       // wakes maintain
	saver        saver
	loading      Loading
	sameBoot     bool         // the machine has not gone down since the log was last open
	applying     *Applying    // nil before the log is read; then used by one goroutine at a time
	changes      atomic.Int64 // ops that changed state since the start
	delayed      atomic.Int64 // slow syncs since the start

	stopping context.Context
	stop     context.CancelFunc
	// saving is cancelled before stopping: it bounds all snapshots except the snapshot of
	// Close.
	saving       context.Context
	cancelSaving context.CancelFunc
	wait         sync.WaitGroup
}

// Open locks the data directory for this process. The state is not read before Recover.
func Open(o Options) (*Store, error) {
	o.setDefaults()
	dir, err := OpenDir(o.FS, o.Dir)
	if err != nil {
		return nil, withHint(err, o.Dir)
	}
	if err := dir.refuseMember(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if err := dir.RemoveLeftovers(); err != nil {
		o.Logger.Warn("can't remove files that an earlier process has not completed", "dir", o.Dir, "error", err)
	}
	dir.Protect(o.Logger)
	o.Engine.Seed = dir.Seed
	bound := engine.Bound{MaxBytes: o.Engine.MaxMemory, Evict: o.Engine.Evict}
	o.Engine.MaxMemory, o.Engine.Evict = 0, false // granted permits stay granted in a replay
	s := &Store{o: o, dir: dir, engine: engine.New(o.Engine), logMu: newTimedMutex(), bound: bound}
	s.diskWatch = NewDiskWatch()
	s.appending = s.diskWatch.Stopwatch()
	s.maintainWake = newSignal()
	s.resetFailed()
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.saving, s.cancelSaving = context.WithCancel(s.stopping)
	s.pipeline = newPipeline(s)
	return s, nil
}

// Engine returns the engine, for reads that are not ops. Only the Store may change its
// state.
func (s *Store) Engine() *engine.Engine { return s.engine }

// Exec executes a batch and calls done once. Under Always, done is called from another
// goroutine when the batch is on disk, or with an error that has a Code: a *Failure or
// ErrUncertain. Under other policies done is called before Exec returns, and the
// decisions must be answered only after Commit. Read-only batches do not wait for the
// disk.
func (s *Store) Exec(batch *engine.Batch, done func(error)) { s.pipeline.exec(batch, done) }

// Commit returns when all batches that its caller has executed are in the log's files,
// and so survive the process. Under Always it only starts writing them. If the disk
// hangs, it blocks for about Options.HangAfter; see pipeline for a disk that hangs when
// no sync is under way.
func (s *Store) Commit() { s.pipeline.commit() }

// SetBound bounds the engine's memory, 0 means no bound, from the next batch on; see
// engine.Bound.
func (s *Store) SetBound(maxMemory int64, evict bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = engine.Bound{MaxBytes: maxMemory, Evict: evict}
	if s.loading.Done.Load() {
		s.engine.SetBackstop(s.bound.Backstop())
	}
}

// sweepBatch is the number of pages that Sweep visits before it releases mu.
const sweepBatch = 8

// Sweep is Engine.Sweep, and holds mu for sweepBatch pages at a time.
func (s *Store) Sweep(pages int) (forgotten int64) {
	for ; pages > 0; pages -= sweepBatch {
		s.mu.Lock()
		forgotten += s.engine.Sweep(s.now(), min(pages, sweepBatch))
		s.mu.Unlock()
	}
	return forgotten
}

// now returns the time for a use of the engine: the clock's, but not after the stamp of
// the oldest group that is not yet applied. Requires: mu is held.
func (s *Store) now() engine.Instant {
	now := s.o.Clock.Now()
	if len(s.inFlight) > 0 {
		return min(s.inFlight[0], now)
	}
	return now
}

// applyReadOnly applies a batch that changes nothing.
func (s *Store) applyReadOnly(batch *engine.Batch, done func(error)) {
	s.mu.Lock()
	now := s.now()
	s.engine.SetMoments(now, batch)
	s.engine.Apply(now, batch)
	s.mu.Unlock()
	done(nil)
}
