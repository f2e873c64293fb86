package persist

import "time"

// maintainEvery is the minimum time between two automatic snapshots and between two
// attempts to reopen a failed log.
const attendEvery = 100 * time.Millisecond

// maxRetryDoublings bounds the doublings of the time between two attempts.
const maxRetries = 5

// maintain takes snapshots when the log has grown and reopens a failed log, until the
// Store is closed. It sets no timer otherwise: checkDisk, which runs while the log is
// written, and fail wake it.
func (s *Store) attend() {
	var pause <-chan time.Time // nil: no pause
	for tries := 0; ; {
		select {
		case <-s.saving.Done():
			return
		case <-s.calls:
			if pause != nil {
				continue // the end of the pause wakes it
			}
		case <-pause:
		}
		pause = nil
		var err error
		switch {
		case s.failure.Load() != nil:
			err = s.mend()
		case s.outgrown():
			_, err = s.save(s.saving)
		default:
			continue
		}
		if err == nil {
			tries = 0
			pause = time.After(attendEvery)
			continue
		}
		pause = time.After(max(attendEvery, s.o.RetryEvery<<tries))
		tries = min(tries+1, maxRetries)
	}
}

// wakeMaintain wakes maintain. It does not block.
func (s *Store) call() {
	select {
	case s.calls <- struct{}{}:
	default: // it is about to run
	}
}

// logOutgrown reports whether the log is long enough to be replaced by a snapshot.
func (s *Store) outgrown() bool { return s.log.Load().Bytes() > s.logBound() }
