package persist

import "time"

// attendEvery is how often the log's length is looked at, and a failed disk.
const attendEvery = 100 * time.Millisecond

// maxRetries bounds how often the time between two tries doubles.
const maxRetries = 5

// attend takes snapshots when the log has grown, and mends what has failed, until
// the Store is closed.
func (s *Store) attend() {
	ticker := time.NewTicker(attendEvery)
	defer ticker.Stop()
	tries, next := 0, time.Time{}
	for {
		select {
		case <-s.saving.Done():
			return
		case <-ticker.C:
		}
		var err error
		switch {
		case time.Now().Before(next):
			continue
		case s.failure.Load() != nil:
			err = s.mend()
		case s.log.Load().Bytes() > s.logBound():
			_, err = s.save(s.saving)
		default:
			continue
		}
		if err == nil {
			tries = 0
			continue
		}
		next = time.Now().Add(s.o.RetryEvery << tries)
		tries = min(tries+1, maxRetries)
	}
}
