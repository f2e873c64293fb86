package persist

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
)

// ErrSaving says that a snapshot is being taken already.
var ErrSaving = errors.New("a snapshot is being taken already")

// A saver takes snapshots, one at a time.
type saver struct {
	busy atomic.Bool

	mu   sync.Mutex
	last Info // the newest complete snapshot
	// When that was taken: of counters.changes, and the size of the log and of the
	// snapshots after it.
	changes, logBytes, diskBytes int64
	lastErr                      error
	duration                     time.Duration // of the last that was complete
	begun                        time.Time     // of the one that is being taken
	saves                        int64         // since the start

	frozen           int64        // counters.changes at the freeze of the one that is being taken
	done, all, bytes atomic.Int64 // keys and bytes of the one that is being taken
}

// Save begins a snapshot of this moment. done is called once, from another
// goroutine, when it is on disk, or has failed. ErrSaving, or a *Failure of the
// disk, says that none was begun.
func (s *Store) Save(done func(Info, error)) error {
	return s.begin(func(Info) error { return nil }, done)
}

// begin is Save with something to do before the next one may begin.
func (s *Store) begin(then func(Info) error, done func(Info, error)) error {
	if f := s.failure.Load(); f != nil {
		return f
	}
	if !s.saver.busy.CompareAndSwap(false, true) {
		return ErrSaving
	}
	s.wait.Go(func() {
		info, err := s.take(s.saving)
		if err == nil {
			err = then(info)
		}
		s.saver.busy.Store(false)
		done(info, err)
	})
	return nil
}

// save is Save that waits.
func (s *Store) save(ctx context.Context) (Info, error) {
	for !s.saver.busy.CompareAndSwap(false, true) {
		select {
		case <-ctx.Done():
			return Info{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	defer s.saver.busy.Store(false)
	return s.take(ctx)
}

// take takes a snapshot of this moment. busy is held.
func (s *Store) take(ctx context.Context) (Info, error) {
	view, meta, err := s.freeze()
	if err != nil {
		return Info{}, err
	}
	return s.write(ctx, view, meta)
}

// freeze is a view of this moment and where the log is then.
func (s *Store) freeze() (*engine.Snapshot, Meta, error) {
	if !s.disk.lockWithin(s.o.HangAfter) {
		return nil, Meta{}, s.fail(errHangs)
	}
	defer s.disk.unlock()
	s.mu.Lock()
	finish := s.order.cut()
	if s.failing {
		f := s.failure.Load() // under mu, as it may be mended at any time
		s.mu.Unlock()
		_ = finish() // has nothing to write
		return nil, Meta{}, f
	}
	view := s.view()
	s.mu.Unlock()
	if err := finish(); err != nil {
		view.Close()
		return nil, Meta{}, s.fail(err)
	}
	return view, s.metaOf(view, s.log.Load()), nil
}

// view freezes the engine. mu is held, and all that is in the log carried out.
func (s *Store) view() *engine.Snapshot {
	s.engine.SetTime(s.now())
	return s.engine.Freeze()
}

func (s *Store) metaOf(view *engine.Snapshot, log *Log) Meta {
	return Meta{LogDir: log.Name(), LogIndex: log.Last(), Now: view.Now(), Seed: s.dir.Seed, Taken: time.Now()}
}

// write makes a view a snapshot, and drops what of the log it replaces. busy is
// held.
func (s *Store) write(ctx context.Context, view *engine.Snapshot, meta Meta) (Info, error) {
	v := &s.saver
	v.mu.Lock()
	v.begun, v.frozen = time.Now(), s.counts.changes.Load()
	v.mu.Unlock()
	v.done.Store(0)
	v.all.Store(view.Keys())
	v.bytes.Store(0)
	info, err := s.writeView(ctx, view, meta)
	view.Close()
	v.mu.Lock()
	took := time.Since(v.begun)
	v.begun, v.lastErr = time.Time{}, err
	v.duration = took
	if err == nil {
		v.saves++
	}
	v.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		s.o.Logger.Info("snapshot given up, as the server ends; the one before holds, and the log goes on")
		return info, err
	case err != nil:
		s.o.Logger.Error("snapshot failed; the one before holds, and the log goes on", "error", err)
		return info, err
	}
	s.o.Logger.Info("snapshot taken", "keys", info.Keys, "bytes", info.Bytes, "took", took.Round(time.Millisecond), "log_index", meta.LogIndex)
	return info, nil
}

func (s *Store) writeView(ctx context.Context, view *engine.Snapshot, meta Meta) (Info, error) {
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
		s.o.Logger.Warn("what the snapshot replaces of the log could not be removed", "error", err)
	}
	s.saver.is(info, log.Bytes(), s.snapshots)
	return info, nil
}

// is says which snapshot is the newest.
func (v *saver) is(info Info, logBytes int64, snapshots *Snapshots) {
	diskBytes, err := snapshots.DiskBytes()
	if err != nil {
		diskBytes = info.Bytes
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last, v.logBytes, v.diskBytes = info, logBytes, diskBytes
	v.changes = v.frozen
}

// latest is the newest complete snapshot, if there is one.
func (v *saver) latest() (Info, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last, v.last.Generation > 0
}

// unsaved says whether the log has anything that the last snapshot has not.
func (s *Store) unsaved() bool {
	log := s.log.Load()
	info, ok := s.saver.latest()
	if !ok {
		return log.Last() >= log.First()
	}
	return info.Meta.LogDir != log.Name() || info.Meta.LogIndex < log.Last()
}

// logBound is how long the log may grow before a snapshot is taken.
func (s *Store) logBound() int64 {
	info, _ := s.saver.latest()
	return max(s.o.SnapshotLogBytes, info.Bytes/2)
}
