package persist

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"limitsrv/internal/beat"
	"limitsrv/internal/status"
)

// Loading is the progress of recovery. Concurrency: any goroutine may read its fields.
type Loading struct {
	Done                  atomic.Bool  // recovery is complete
	Begun                 atomic.Int64 // nanoseconds since the Unix epoch; 0: not started
	Keys, AllKeys         atomic.Int64
	SnapshotBytes         atomic.Int64 // of its blocks
	LogBytes, AllLogBytes atomic.Int64
	Entries, AllEntries   atomic.Int64
}

// status returns the progress.
func (l *Loading) status() status.Load {
	st := status.Load{
		Keys: l.Keys.Load(), AllKeys: l.AllKeys.Load(), SnapshotBytes: l.SnapshotBytes.Load(),
		LogBytes: l.LogBytes.Load(), AllLogBytes: l.AllLogBytes.Load(), Entries: l.Entries.Load(),
		AllEntries: l.AllEntries.Load(),
	}
	if at := l.Begun.Load(); at != 0 {
		st.Since = time.Unix(0, at)
	}
	return st
}

// loadingEvery is the period of recovery's progress messages.
const loadingEvery = 2 * time.Second

// Recover loads the newest snapshot and the log after it into the engine. The Store must
// not decide before Recover has returned nil. Errors name the file, the damage and the
// remedy; the disk is unchanged then. If ctx ends, Recover returns its error.
func (s *Store) Recover(ctx context.Context) error {
	began := time.Now()
	s.loading.Begun.Store(began.UnixNano())
	stop := s.logProgress()
	err := s.load(ctx)
	stop()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.loading.Done.Store(true)
	s.engine.SetBackstop(s.bound.Backstop())
	s.engine.SetCounting(true)
	s.mu.Unlock()
	s.o.Logger.Info("state loaded", "keys", s.engine.Len(), "snapshot_keys", s.loading.Keys.Load(),
		"log_entries", s.loading.Entries.Load(), "log_bytes", s.loading.LogBytes.Load(), "took",
		time.Since(began).Round(time.Millisecond))
	s.wait.Go(func() { s.diskWatch.Run(s.stopping, s.checkDisk) })
	s.wait.Go(s.maintain)
	return nil
}

func (s *Store) load(ctx context.Context) error {
	var err error
	s.snapshots, err = OpenSnapshots(s.o.FS, s.dir.join(snapshotsDir),
		SnapshotOptions{Logger: s.o.Logger, Reserve: LogReserve(s.o.SegmentBytes)})
	if err != nil {
		return err
	}
	s.engine.SetCounting(false)
	info, err := s.loadSnapshot(ctx)
	if err != nil {
		return err
	}
	log, err := s.findLog(info)
	if err != nil {
		return err
	}
	s.log.Store(log)
	if err := s.openApplying(log, info.Meta.LogIndex); err != nil {
		return err
	}
	if err := s.replay(ctx, log, info.Meta.LogIndex+1); err != nil {
		return err
	}
	if info.Generation > 0 {
		s.saver.setLatest(info, log.Bytes(), s.snapshots)
	}
	s.removeOtherLogs(log.Name())
	return nil
}

// loadSnapshot loads the newest intact snapshot. It returns the zero Info if there is no
// intact snapshot.
func (s *Store) loadSnapshot(ctx context.Context) (Info, error) {
	all, err := s.snapshots.All()
	if err != nil {
		return Info{}, withHint(err, s.o.Dir)
	}
	for i, info := range all {
		s.loading.AllKeys.Store(info.Keys)
		s.loading.SnapshotBytes.Store(info.Bytes)
		s.loading.AllLogBytes.Store(s.fullSegmentBytes(info))
		err = s.snapshots.Load(ctx, info, s.engine, runtime.GOMAXPROCS(0),
			func(keys, _, _ int64) { s.loading.Keys.Store(keys) })
		if got := s.engine.Len(); err == nil && got != info.Keys {
			err = &CorruptError{What: fmt.Sprintf("snapshot %d", info.Generation), File: s.dir.join(snapshotsDir),
				Reason: fmt.Sprintf("it has %d keys instead of %d", got, info.Keys)}
		}
		if err == nil {
			s.engine.SetTime(info.Meta.Now)
			s.engine.SetTold(info.Meta.Told)
			return info, nil
		}
		// The previous snapshot is equivalent only if the same log continues from it.
		if !errors.As(err, new(*CorruptError)) || i == len(all)-1 || all[i+1].LogDir != info.LogDir {
			break
		}
		s.o.Logger.Warn("snapshot is damaged; using the previous one", "error", err)
		s.engine.Clear()
	}
	if err != nil {
		return Info{}, addHint(err, s.o.Dir)
	}
	return Info{}, nil
}

// withHint appends the remedy to an error that reports damage.
func withHint(err error, dir string) error {
	if !errors.As(err, new(*CorruptError)) {
		return err
	}
	return addHint(err, dir)
}

func addHint(err error, dir string) error {
	return fmt.Errorf("%w (for details: limitsrv check %s; to repair: limitsrv check --repair %s)", err, dir, dir)
}

// findLog opens the log that continues from a snapshot, or from an empty state. It creates
// the log of a new directory and of a directory restored from a backup.
func (s *Store) findLog(info Info) (*Log, error) {
	names, err := s.logNames()
	if err != nil {
		return nil, err
	}
	want := info.Meta.LogDir
	if info.Generation == 0 {
		want = logName(1)
	}
	if !slices.Contains(names, want) && (len(names) > 0 || info.Generation > 0 && !isBackup(s.o.FS, s.o.Dir)) {
		return nil, addHint(fmt.Errorf("%s is missing, but the snapshot in %s needs it", s.dir.join(want), s.o.Dir), s.o.Dir)
	}
	stopped, err := readStopped(s.o.FS, s.o.Dir, want)
	if err := s.orWarn(err, "cannot check whether the end of the log is missing; everything else is checked"); err != nil {
		return nil, err
	}
	boot := s.o.boot()
	same, err := isSameBoot(s.o.FS, s.o.Dir, boot)
	if err := s.orWarn(err, "cannot determine whether the machine has gone down; everything else is checked"); err != nil {
		return nil, err
	}
	s.sameBoot = same
	o := LogOptions{First: info.Meta.LogIndex + 1, Least: max(stopped, info.Meta.LogIndex), SameBoot: same}
	log, err := s.openLog(want, o)
	// A new segment does not fit. The logs before it are in the snapshot.
	if IsFull(err) {
		s.removeOtherLogs(want)
		log, err = s.openLog(want, o)
	}
	if err != nil {
		return nil, withHint(err, s.o.Dir)
	}
	// OpenLog has checked, by Least, that the log ends late enough.
	if err := checkLogStart(s.dir.join(want), log.First(), s.dir.join(snapshotsDir), info.Meta.LogIndex); err != nil {
		return nil, errors.Join(addHint(err, s.o.Dir), log.Close())
	}
	if d := log.Dropped(); d != nil {
		d.Warn(s.o.Logger)
	}
	if !same && boot != "" {
		err = writeBoot(s.o.FS, s.o.Dir, boot)
	}
	// The next start then treats the end of the log as after a power failure.
	if IsFull(err) {
		s.o.Logger.Warn("the disk is full: it can't be recorded that this boot uses the directory; the server starts", "dir",
			s.o.Dir, "error", err)
		err = nil
	}
	if err = errors.Join(err, endBackup(s.o.FS, s.o.Dir)); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// orWarn returns err, unless it reports damage, for which it logs text.
func (s *Store) orWarn(err error, text string) error {
	if errors.As(err, new(*CorruptError)) {
		s.o.Logger.Warn(text, "error", err)
		return nil
	}
	return err
}

// openApplying opens the mark of the entry that is being applied. It returns a *PoisonError if an
// entry after the index after has ended too many processes. It logs the skipped entries as
// warnings.
func (s *Store) openApplying(log *Log, after uint64) (err error) {
	if s.applying, err = OpenApplying(s.o.FS, s.o.Dir, s.o.Dir, s.sameBoot, s.o.Logger); err != nil {
		return err
	}
	for _, e := range log.Skipped() {
		if e.Index > after {
			s.o.Logger.Warn("entry of the log skipped: its decisions are lost", "entry", e.Index, "kept_in",
				s.dir.join(keptName(e.Index)))
		}
	}
	return s.applying.Check(after, log.Last(), log.Skipped())
}

// checkLogStart returns an error if a log with the given first entry does not continue
// from the snapshot at index, 0 for no snapshot.
func checkLogStart(log string, first uint64, snapshots string, index uint64) error {
	switch {
	case first <= index+1:
		return nil
	case index == 0:
		return fmt.Errorf("%s begins with entry %d, but the snapshot with earlier entries is missing in %s", log, first,
			snapshots)
	}
	return fmt.Errorf("%s begins with entry %d, but the snapshot in %s ends at %d", log, first, snapshots, index)
}

// replay applies the entries of the log from an index on.
func (s *Store) replay(ctx context.Context, log *Log, from uint64) error {
	s.loading.AllLogBytes.Store(log.Bytes())
	s.loading.AllEntries.Store(int64(log.Last() - (from - 1)))
	replay := newReplay(s.engine, s.dir.join(log.Name()), s.applying, from)
	err := log.Read(from, func(index uint64, data []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := replay.entry(index, data); err != nil {
			return err
		}
		s.loading.Entries.Add(1)
		s.loading.LogBytes.Add(int64(len(data)))
		return nil
	})
	replay.finish() // not deferred: after a panic the mark must remain
	if err != nil && ctx.Err() == nil {
		err = addHint(err, s.o.Dir)
	}
	return err
}

// logProgress logs the progress of recovery periodically until stop is called.
func (s *Store) logProgress() (stop func()) {
	return beat.Start(func(ctx context.Context) {
		beat.Every(ctx, loadingEvery, func() {
			l := s.loading.status()
			s.o.Logger.Info("loading", "percent", int(100*l.Share()), "left", l.Left(time.Now()).Round(time.Second),
				"keys", l.Keys, "of_keys", l.AllKeys, "log_entries", l.Entries, "of_log_entries", l.AllEntries)
		})
	})
}
