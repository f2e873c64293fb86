package persist

import "time"

// slowAfter is the age of unsynced entries of a slow disk, which is logged: a second until
// the next sync, and a second for the sync.
const slowAfter = 2 * time.Second

// append appends to the log. Requires: logMu is held.
func (s *Store) append(data []byte) error {
	s.appending.Start()
	defer s.appending.Stop()
	log := s.log.Load()
	if s.o.beforeAppend != nil {
		s.o.beforeAppend(log.Name(), log.Last()+1, data)
	}
	_, err := log.Append(data)
	return err
}

// checkDisk fails the Store if the disk hangs, or has failed while no caller waited for it. It
// returns whether the disk must be checked again. It never blocks on the disk.
func (s *Store) checkDisk() (busy bool) {
	log := s.log.Load()
	took, appending := s.appending.Running()
	switch {
	case took > s.o.HangAfter:
		s.fail(errHangs)
	case s.failure.Load() == nil && log.Err() != nil:
		s.fail(log.Err())
	}
	if s.logOutgrown() {
		s.maintainWake.send()
	}
	s.checkSync(log)
	return appending || s.o.Policy == EverySecond && s.unsynced.Load() != 0
}

// checkSync tracks since when the log has unsynced entries, and under EverySecond logs a
// warning if that is too long.
func (s *Store) checkSync(log *Log) {
	if log.Synced() >= log.Last() {
		s.unsynced.Store(0)
		s.slowLogged = false
		return
	}
	now := time.Now()
	s.unsynced.CompareAndSwap(0, now.UnixNano())
	waits := now.Sub(time.Unix(0, s.unsynced.Load()))
	if s.o.Policy == EverySecond && waits > slowAfter && !s.slowLogged {
		s.slowLogged = true
		s.delayed.Add(1)
		s.o.Logger.Warn("slow disk: syncing the log takes longer than a second", "unsynced_for",
			waits.Round(time.Millisecond))
	}
}
