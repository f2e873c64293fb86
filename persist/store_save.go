package persist

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
)

// ErrSaving reports that a snapshot is already being taken.
var ErrSaving = errors.New("a snapshot is being taken already")

// A saver holds the state of snapshots. One snapshot is taken at a time.
type saver struct {
	turn Turn

	mu   sync.Mutex
	last Info // the newest complete snapshot
	// The values of Store.changes and of the sizes of log and snapshots when last was
	// taken.
	changes, logBytes, diskBytes int64
	lastErr                      error
	// troubled: the last snapshot failed. full: it failed because the disk was full.
	troubled, full bool
	duration       time.Duration // of the last snapshot
	saves          int64         // since the start of the Store

	frozen           int64        // Store.changes at the freeze of the snapshot that is being taken
	done, all, bytes atomic.Int64 // keys and bytes of the snapshot that is being taken
}

// Save starts a snapshot of the current state. done is called once, from another goroutine,
// when it is on disk or has failed. ErrSaving, or a *Failure of the disk, means that no
// snapshot was started and done is never called.
func (s *Store) Save(done func(Info, error)) error {
	return s.begin(func(Info) error { return nil }, done)
}

// begin is Save with an action that runs before the next snapshot may start.
func (s *Store) begin(then func(Info) error, done func(Info, error)) error {
	if f := s.failure.Load(); f != nil {
		return f
	}
	if !s.saver.turn.Take() {
		return ErrSaving
	}
	s.wait.Go(func() {
		info, err := s.take(s.saving)
		if err == nil {
			err = then(info)
		}
		s.saver.turn.Free()
		done(info, err)
	})
	return nil
}

// saveAndWait is Save, but blocks until the snapshot is complete.
func (s *Store) saveAndWait(ctx context.Context) (Info, error) {
	for !s.saver.turn.Take() {
		select {
		case <-ctx.Done():
			return Info{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	defer s.saver.turn.Free()
	return s.take(ctx)
}

// take takes a snapshot of the current state. Requires: the caller has the turn.
func (s *Store) take(ctx context.Context) (Info, error) {
	view, meta, err := s.freeze()
	if err != nil {
		return Info{}, err
	}
	return s.write(ctx, view, meta)
}

// freeze returns the frozen state and its position in the log.
func (s *Store) freeze() (*engine.Snapshot, Meta, error) {
	if !s.logMu.lockWithin(s.o.HangAfter) {
		return nil, Meta{}, s.fail(errHangs)
	}
	defer s.logMu.unlock()
	s.mu.Lock()
	pending := s.pipeline.barrier()
	if s.failing {
		f := s.failure.Load() // under mu, because it may be cleared at any time
		s.mu.Unlock()
		_ = s.pipeline.append(pending) // has nothing to write
		return nil, Meta{}, f
	}
	view := s.freezeEngine()
	s.mu.Unlock()
	if err := s.pipeline.append(pending); err != nil {
		view.Close()
		return nil, Meta{}, s.fail(err)
	}
	return view, s.metaOf(view, s.log.Load()), nil
}

// freezeEngine freezes the engine. Requires: mu is held, and all entries of the log are
// applied.
func (s *Store) freezeEngine() *engine.Snapshot {
	s.engine.SetTime(s.now())
	return s.engine.Freeze()
}

func (s *Store) metaOf(view *engine.Snapshot, log *Log) Meta {
	return Meta{LogDir: log.Name(), LogIndex: log.Last(), Now: view.Now(), Told: view.Told(), Seed: s.dir.Seed,
		Taken: time.Now()}
}

// write writes a frozen state as a snapshot and deletes the entries of the log before it.
// Requires: the caller has the turn.
func (s *Store) write(ctx context.Context, view *engine.Snapshot, meta Meta) (Info, error) {
	v, began := &s.saver, time.Now()
	v.mu.Lock()
	v.frozen = s.changes.Load()
	v.mu.Unlock()
	v.all.Store(view.Keys())
	info, err := s.writeFrozen(ctx, view, meta)
	view.Close()
	v.done.Store(0)
	v.all.Store(0)
	v.bytes.Store(0)
	took := time.Since(began)
	canceled := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	v.mu.Lock()
	known := v.troubled && v.full == IsFull(err)
	v.lastErr, v.duration = err, took
	if !canceled {
		v.troubled, v.full = err != nil, IsFull(err)
	}
	if err == nil {
		v.saves++
	}
	v.mu.Unlock()
	switch {
	case canceled:
		s.o.Logger.Info("snapshot cancelled at shutdown; the previous snapshot and the log are kept")
		return info, err
	case known: // the previous failure was logged, and INFO shows it
		s.o.Logger.Debug("snapshot failed again", "error", err)
		return info, err
	case err != nil:
		s.o.Logger.Error("snapshot failed; the previous snapshot and the log are kept, the log grows, and snapshots are "+
			"tried again", "error", err)
		return info, err
	}
	s.o.Logger.Info("snapshot taken", "keys", info.Keys, "bytes", info.Bytes, "took", took.Round(time.Millisecond),
		"log_index", meta.LogIndex)
	return info, nil
}

func (s *Store) writeFrozen(ctx context.Context, view *engine.Snapshot, meta Meta) (Info, error) {
	log := s.log.Load()
	if err := log.Sync(); err != nil {
		return Info{}, err
	}
	info, err := s.snapshots.Write(ctx, view, meta, func(done, _, bytes int64) {
		s.saver.done.Store(done)
		s.saver.bytes.Store(bytes)
	})
	if err != nil {
		return info, err
	}
	if err := log.DropBefore(meta.LogIndex + 1); err != nil {
		s.o.Logger.Warn("could not remove log segments replaced by the snapshot", "error", err)
	}
	s.saver.setLatest(info, log.Bytes(), s.snapshots)
	return info, nil
}

// setLatest records the newest snapshot.
func (v *saver) setLatest(info Info, logBytes int64, snapshots *Snapshots) {
	diskBytes, err := snapshots.DiskBytes()
	if err != nil {
		diskBytes = info.Bytes
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last, v.logBytes, v.diskBytes = info, logBytes, diskBytes
	v.changes = v.frozen
}

// latest returns the newest complete snapshot, if there is a snapshot.
func (v *saver) latest() (Info, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last, v.last.Generation > 0
}

// hasUnsaved reports whether the log has entries that the last snapshot does not include.
func (s *Store) hasUnsaved() bool {
	log := s.log.Load()
	info, ok := s.saver.latest()
	if !ok {
		return log.Last() >= log.First()
	}
	return info.Meta.LogDir != log.Name() || info.Meta.LogIndex < log.Last()
}

// logBound returns the size of the log that triggers a snapshot.
func (s *Store) logBound() int64 {
	info, _ := s.saver.latest()
	return max(s.o.SnapshotLogBytes, info.Bytes/2)
}
