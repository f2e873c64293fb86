package persist

import (
	"time"

	"limitsrv/internal/status"
)

// Status returns the status of the Store. Cost: a few loads and a short lock.
func (s *Store) Status() status.Store {
	l, v := &s.loading, &s.saver
	st := status.Store{
		Fsync:   s.o.Policy.String(),
		Loading: l.status(),
		Log:     status.Log{Delayed: s.delayed.Load()},
	}
	if f := s.failure.Load(); f != nil {
		st.Failed, st.FailedSince = f.Err, f.Since
	}
	if since := v.turn.Since(); !since.IsZero() {
		st.Saving = status.Save{Since: since, Keys: v.done.Load(), AllKeys: v.all.Load(), Bytes: v.bytes.Load()}
	}
	if !l.Done.Load() {
		return st
	}
	v.mu.Lock()
	st.Saved = status.Snapshot{
		Keys: v.last.Keys, Bytes: v.diskBytes, Changes: s.changes.Load() - v.changes, Took: v.duration, Err: v.lastErr,
		Count: v.saves,
	}
	if v.last.Generation > 0 {
		st.Saved.At = v.last.Meta.Taken
	}
	st.Log.BaseBytes = v.logBytes
	v.mu.Unlock()
	s.logStatus(&st.Log)
	return st
}

func (s *Store) logStatus(st *status.Log) {
	log := s.log.Load()
	st.Bytes, st.Segments, st.Syncing = log.Bytes(), log.Segments(), log.Busy()
	synced := log.Synced() // read before Last, so as not to be greater
	st.Unsynced = int64(log.Last() - synced)
	if since := s.unsynced.Load(); since != 0 && st.Unsynced > 0 {
		st.Lag = time.Since(time.Unix(0, since)) // to a tenth of a second
	}
}
