package persist

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Parting determines whether Close takes a snapshot. The log already holds the same
// decisions; a snapshot shortens the replay of the next start.
type Parting uint8

const (
	// SaveIfQuick takes a small snapshot, and cancels it if it takes longer than a
	// second or if the disk has no room for it.
	SaveIfQuick Parting = iota
	// SaveNever takes no snapshot.
	SaveNever
	// SaveAlways takes a snapshot, regardless of its duration.
	SaveAlways
)

const (
	// quickSave bounds the duration of the snapshot of SaveIfQuick.
	quickSave = time.Second
	// quickKeys bounds its number of keys: about 0.15 s of a processor.
	quickKeys = 1_000_000
)

// Close writes and syncs all decisions and releases the directory. A snapshot that is
// being written is cancelled; p determines whether another is taken, and ctx bounds it.
// Requires: Exec is not called any more.
func (s *Store) Close(ctx context.Context, p Parting) error {
	s.cancelSaving()
	var err error
	if s.loading.Done.Load() { // otherwise there is nothing new, and the old state is incomplete
		s.Commit()
		if f := s.failure.Load(); f != nil {
			err = fmt.Errorf("the last decisions are not on disk: %w", f.Err)
		} else if s.hasUnsaved() {
			err = s.saveLast(ctx, p)
		}
	}
	s.stop()
	s.wait.Wait()
	if log := s.log.Load(); log != nil {
		err = errors.Join(err, s.closeLog(log))
	}
	if s.snapshots != nil {
		err = errors.Join(err, s.snapshots.Close())
	}
	err = errors.Join(err, s.applying.Close())
	return errors.Join(err, s.dir.Close())
}

// saveLast takes a snapshot according to p.
func (s *Store) saveLast(ctx context.Context, p Parting) error {
	quick := p == SaveIfQuick
	if p == SaveNever || quick && s.engine.Len() > s.o.quickKeys {
		return nil
	}
	if quick {
		bound, cancel := context.WithTimeout(ctx, s.o.quickSave)
		defer cancel()
		ctx = bound
	}
	s.snapshots.Hurry(true)
	_, err := s.saveAndWait(ctx)
	if quick && (errors.Is(err, context.DeadlineExceeded) || IsFull(err)) {
		return nil
	}
	return err
}

// closeLog closes the log and, if all of it is on disk, records its end in STOPPED.
func (s *Store) closeLog(log *Log) error {
	end, whole := logEnd{log.Name(), log.Last()}, s.loading.Done.Load() && log.Err() == nil && s.failure.Load() == nil
	if err := log.Close(); err != nil || !whole {
		return err
	}
	return writeStopped(s.o.FS, s.o.Dir, end)
}
