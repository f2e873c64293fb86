package persist

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Parting says whether the end of a Store takes a snapshot. The log has all that one
// would have: with it the next start has less to replay.
type Parting uint8

const (
	// SaveIfQuick takes one that is small, and gives it up where it takes longer than a
	// second.
	SaveIfQuick Parting = iota
	// SaveNever takes none.
	SaveNever
	// SaveAlways takes one, however long it takes.
	SaveAlways
)

const (
	// quickSave bounds the snapshot of SaveIfQuick.
	quickSave = time.Second
	// quickKeys is how many keys one may have: some 0.15 s of a processor.
	quickKeys = 1_000_000
)

// Close ends the Store when nobody calls Exec any more. What was decided is written and
// synced. A snapshot that is being taken is given up; whether another is taken Parting
// says, and ctx bounds that.
func (s *Store) Close(ctx context.Context, p Parting) error {
	s.giveUps()
	var err error
	if s.loading.Done.Load() { // else there is nothing new, and not all of the old
		s.Commit()
		if f := s.failure.Load(); f != nil {
			err = fmt.Errorf("the last decisions are not on disk: %w", f.Err)
		} else if s.unsaved() {
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
	return errors.Join(err, s.dir.Close())
}

// saveLast takes a snapshot, if Parting says so.
func (s *Store) saveLast(ctx context.Context, p Parting) error {
	quick := p == SaveIfQuick
	if p == SaveNever || quick && s.engine.Len() > s.o.quickKeys {
		return nil
	}
	if quick {
		bound, cancel := context.WithTimeout(ctx, quickSave)
		defer cancel()
		ctx = bound
	}
	s.snapshots.Hurry(true)
	_, err := s.save(ctx)
	if quick && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// closeLog closes the log and, if all of it is on disk, writes down where it ends.
func (s *Store) closeLog(log *Log) error {
	end, whole := logEnd{log.Name(), log.Last()}, s.loading.Done.Load() && log.Err() == nil && s.failure.Load() == nil
	if err := log.Close(); err != nil || !whole {
		return err
	}
	return writeStopped(s.o.FS, s.o.Dir, end)
}
