package persist

import "time"

// A Status is how a Store stands.
type Status struct {
	Policy  Policy
	Loading bool
	// LoadBegun is when recovery began; the rest says how far it came.
	LoadBegun                time.Time
	LoadedKeys, KeysToLoad   int64
	ReplayedBytes, LogToRead int64

	// Failure is nil unless the disk has failed.
	Failure  *Failure
	Unlogged int64 // ops carried out without a log, since the start
	Delayed  int64 // syncs that took longer than a second

	Saving        bool
	SaveBegun     time.Time
	SavedKeys     int64 // of the snapshot that is being taken
	KeysToSave    int64
	SavedBytes    int64
	LastSave      Info // of Generation 0 if there is none
	LastSaveTook  time.Duration
	LastSaveErr   error
	Saves         int64 // since the start
	SnapshotBytes int64 // on disk, of all snapshots
	Changes       int64 // ops since the last snapshot that changed something
	LogBytes      int64
	LogBaseBytes  int64 // of these, what was there after the last snapshot
	LogSegments   int
	// Unsynced are the log's entries that a power cut would take, and UnsyncedFor is
	// for how long there have been some, to a tenth of a second.
	Unsynced    int64
	UnsyncedFor time.Duration
	Syncing     bool // or the log's file is being changed
}

// Status tells how the Store stands.
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
	synced := log.Synced() // before the last, so as not to be beyond it
	st.Unsynced = int64(log.Last() - synced)
	if since := s.unsynced.Load(); since != 0 && st.Unsynced > 0 {
		st.UnsyncedFor = time.Since(time.Unix(0, since))
	}
	return st
}
