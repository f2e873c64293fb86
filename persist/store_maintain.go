package persist

import "time"

// maintainEvery is the minimum time between two automatic snapshots and between two
// attempts to reopen a failed log.
const maintainEvery = 100 * time.Millisecond

// maintain takes snapshots when the log has grown and reopens a failed log, until the
// Store is closed. It sets no timer otherwise: checkDisk, which runs while the log is
// written, and fail wake it.
func (s *Store) maintain() {
	var pause <-chan time.Time // nil: no pause
	retry := Retry{Every: s.o.RetryEvery}
	for {
		select {
		case <-s.saving.Done():
			return
		case <-s.maintainWake:
			if pause != nil {
				continue // the end of the pause wakes it
			}
		case <-pause:
		}
		pause = nil
		var err error
		switch {
		case s.failure.Load() != nil:
			err = s.reopenLog()
		case s.logOutgrown():
			_, err = s.saveAndWait(s.saving)
		default:
			continue
		}
		if err == nil {
			retry.Reset()
			pause = time.After(maintainEvery)
			continue
		}
		pause = time.After(max(maintainEvery, retry.Pause()))
	}
}

// logOutgrown reports whether the log is long enough to be replaced by a snapshot.
func (s *Store) logOutgrown() bool { return s.log.Load().Bytes() > s.logBound() }
