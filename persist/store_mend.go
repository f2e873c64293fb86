package persist

import (
	"time"

	"limitsrv/engine"
)

// mend begins a new log, in a directory of its own, with a snapshot of this moment:
// nobody knows what of the failed one is on disk, and an fsync that has failed is
// never tried again. Under Always nothing is decided until that is done; otherwise
// decisions go into the new log from its beginning on. What was on disk before
// stays until the snapshot is.
func (s *Store) mend() error {
	if !s.saver.busy.CompareAndSwap(false, true) {
		return ErrSaving
	}
	defer s.saver.busy.Store(false)
	if !s.disk.lockWithin(s.o.HangAfter) {
		return errHangs
	}
	old := s.log.Load()
	fresh, err := s.openLog(logName(logNumber(old.Name())+1), LogOptions{First: old.Last() + 1})
	if err != nil {
		s.disk.unlock()
		return err
	}
	view, meta := s.changeOver(fresh)
	s.disk.unlock()
	s.wait.Go(func() { s.shut(old) })
	s.snapshots.Hurry(s.o.Policy == Always) // nothing is decided until it is there
	defer s.snapshots.Hurry(false)
	if _, err = s.write(s.saving, view, meta); err != nil && !s.stands(fresh) {
		s.giveUp(fresh)
		return err
	}
	s.mended()
	if err == nil { // else the snapshot before, and so its log, may still be needed
		s.keepLog(fresh.Name())
	}
	return nil
}

// changeOver makes a new log the log, and freezes the engine at its beginning. disk
// is held.
func (s *Store) changeOver(fresh *Log) (*engine.Snapshot, Meta) {
	s.mu.Lock()
	finish := s.order.cut()
	view := s.view()
	meta := s.metaOf(view, fresh)
	s.log.Store(fresh)
	if s.failing = s.o.Policy == Always; !s.failing {
		s.rearm()
	}
	s.mu.Unlock()
	_ = finish() // has nothing to write: that was given up
	return view, meta
}

// stands says whether the newest snapshot goes on in a log, as it may even where
// writing it has ended in an error.
func (s *Store) stands(log *Log) bool {
	info, ok, err := s.snapshots.Latest()
	return err == nil && ok && info.LogDir == log.Name()
}

// giveUp goes back to a failed disk.
func (s *Store) giveUp(fresh *Log) {
	s.mu.Lock()
	if !s.failing {
		s.failing = true
		close(*s.fails.Load())
	}
	after := s.order.fail(s.failure.Load())
	s.mu.Unlock()
	after()
	s.discard(fresh)
}

// mended ends the failure, unless there is a new one.
func (s *Store) mended() {
	s.mu.Lock()
	f := s.failure.Load()
	again := s.failing && s.o.Policy != Always
	if !again {
		if s.failing {
			s.rearm()
		}
		s.failing = false
		s.failure.Store(nil)
	}
	s.mu.Unlock()
	if !again {
		s.o.Logger.Info("the disk can be written again, and all that was decided is on it", "failed_for", time.Since(f.Since).Round(time.Millisecond))
	}
}
