package persist

import (
	"time"

	"limitsrv/engine"
)

// reopenLog starts a new log, in its own directory, with a snapshot of the current state,
// because the state of the failed log on disk is unknown, and a failed fsync must not be
// retried. Under Always, batches are rejected until the snapshot is on disk; otherwise
// decisions are logged in the new log at once. The old files are kept until then.
func (s *Store) reopenLog() error {
	if !s.saver.turn.Take() {
		return ErrSaving
	}
	defer s.saver.turn.Free()
	if !s.logMu.lockWithin(s.o.HangAfter) {
		return errHangs
	}
	old := s.log.Load()
	name := logName(logNumber(old.Name()) + 1)
	fresh, err := s.openLog(name, LogOptions{First: old.Last() + 1})
	if err != nil {
		s.logMu.unlock()
		s.remove(name)
		return err
	}
	view, meta := s.switchLog(fresh)
	s.logMu.unlock()
	s.wait.Go(func() { s.closeFailed(old) })
	s.snapshots.Hurry(s.o.Policy == Always) // batches are rejected until it is done
	defer s.snapshots.Hurry(false)
	if _, err = s.write(s.saving, view, meta); err != nil && !s.isCurrent(fresh) {
		s.giveUp(fresh)
		return err
	}
	s.clearFailure()
	if err == nil { // otherwise the previous snapshot and its log may still be needed
		s.removeOtherLogs(fresh.Name())
	}
	return nil
}

// switchLog installs a new log and freezes the engine at its first entry. Requires: logMu
// is held.
func (s *Store) switchLog(fresh *Log) (*engine.Snapshot, Meta) {
	s.mu.Lock()
	pending := s.pipeline.barrier()
	view := s.freezeEngine()
	meta := s.metaOf(view, fresh)
	s.log.Store(fresh)
	if s.failing = s.o.Policy == Always; !s.failing {
		s.resetFailed()
	}
	s.mu.Unlock()
	_ = s.pipeline.append(pending) // has nothing to write: the pending decisions were given up
	return view, meta
}

// isCurrent reports whether the newest snapshot is the start of log. That is possible
// even if writing the snapshot returned an error.
func (s *Store) isCurrent(log *Log) bool {
	info, ok, err := s.snapshots.Latest()
	return err == nil && ok && info.LogDir == log.Name()
}

// giveUp discards the new log and returns to the failed state.
func (s *Store) giveUp(fresh *Log) {
	s.mu.Lock()
	if !s.failing {
		s.failing = true
		close(*s.failedCh.Load())
	}
	after := s.pipeline.fail(s.failure.Load())
	s.mu.Unlock()
	after()
	s.discard(fresh)
}

// clearFailure ends the failed state, unless the new log has failed too.
func (s *Store) clearFailure() {
	s.mu.Lock()
	f := s.failure.Load()
	again := s.failing && s.o.Policy != Always
	if !again {
		if s.failing {
			s.resetFailed()
		}
		s.failing = false
		s.failure.Store(nil)
	}
	s.mu.Unlock()
	if !again {
		s.o.Logger.Info("disk works again, all decisions are on it", "failed_for",
			time.Since(f.Since).Round(time.Millisecond))
	}
}
