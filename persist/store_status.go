package persist

import "time"

// A Status describes the state of a Store.
type Status struct {
	Policy  Policy
	Loading bool
	// LoadBegun is the start of recovery; the fields after it are its progress.
	LoadBegun                time.Time
	LoadedKeys, KeysToLoad   int64
	ReplayedBytes, LogToRead int64

	// Failure is nil unless the disk has failed.
	Failure  *Failure
	Unlogged int64 // ops applied without a log, since the start
	Delayed  int64 // syncs that took longer than a second

	Saving        bool
	SaveBegun     time.Time
	SavedKeys     int64 // of the snapshot that is being taken
	KeysToSave    int64
	SavedBytes    int64
	LastSave      Info // its Generation is 0 if there are no snapshots
	LastSaveTook  time.Duration
	LastSaveErr   error
	Saves         int64 // since the start
	SnapshotBytes int64 // on disk, of all snapshots
	Changes       int64 // ops since the last snapshot that changed state
	LogBytes      int64
	LogBaseBytes  int64 // size of the log after the last snapshot
	LogSegments   int
	// Unsynced is the number of log entries that a power failure would lose, and
	// UnsyncedFor is the time since it was last 0, to a tenth of a second.
	Unsynced    int64
	UnsyncedFor time.Duration
	Syncing     bool // a sync or a change of segment is under way
}

// Status returns the state of the Store.
func (s *Store) Status() Status {
	l, v := &s.loading, &s.saver
	st := Status{
		Policy:        s.o.Policy,
		Loading:       !l.Done.Load(),
		LoadedKeys:    l.Keys.Load(),
		KeysToLoad:    l.AllKeys.Load(),
		ReplayedBytes: l.LogBytes.Load(),
		LogToRead:     l.AllLogBytes.Load(),
		Failure:       s.failure.Load(),
		Unlogged:      s.counts.unlogged.Load(),
		Delayed:       s.counts.delayed.Load(),
		Saving:        v.busy.Load(),
		SavedKeys:     v.done.Load(),
		KeysToSave:    v.all.Load(),
		SavedBytes:    v.bytes.Load(),
	}
	if at := l.Begun.Load(); at != 0 {
		st.LoadBegun = time.Unix(0, at)
	}
	if st.Loading {
		return st
	}
	v.mu.Lock()
	st.SaveBegun, st.LastSave, st.LastSaveTook, st.LastSaveErr, st.Saves = v.begun, v.last, v.duration, v.lastErr, v.saves
	st.SnapshotBytes, st.LogBaseBytes, st.Changes = v.diskBytes, v.logBytes, s.counts.changes.Load()-v.changes
	v.mu.Unlock()
	log := s.log.Load()
	st.LogBytes, st.LogSegments, st.Syncing = log.Bytes(), log.Segments(), log.Busy()
	synced := log.Synced() // read before Last, so as not to be greater
	st.Unsynced = int64(log.Last() - synced)
	if since := s.unsynced.Load(); since != 0 && st.Unsynced > 0 {
		st.UnsyncedFor = time.Since(time.Unix(0, since))
	}
	return st
}
