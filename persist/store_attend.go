package persist

import "time"

// attendEvery is the shortest time between two snapshots that nobody asked for, and
// between two tries to mend a disk.
const attendEvery = 100 * time.Millisecond

// maxRetries bounds how often the time between two tries doubles.
const maxRetries = 5

// attend takes snapshots when the log has grown, and mends what has failed, until
// the Store is closed. Without either it sets no timer: lookAtDisk, which looks at the log for as
// long as it is written, and fail call for it.
func (s *Store) attend() {
	var pause <-chan time.Time // nil: there is none
	for tries := 0; ; {
		select {
		case <-s.saving.Done():
			return
		case <-s.calls:
			if pause != nil {
				continue // it looks at its end
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

// call has attend look. It does not wait.
func (s *Store) call() {
	select {
	case s.calls <- struct{}{}:
	default: // it is about to
	}
}

// outgrown says whether the log has grown so long that a snapshot is to replace it.
func (s *Store) outgrown() bool { return s.log.Load().Bytes() > s.logBound() }
