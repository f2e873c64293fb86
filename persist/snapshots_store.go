package persist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
)

const (
	forReading = false
	forWriting = true

	storeMemTable = 64 << 10 // bytes; nothing is ever written to it
	storeCache    = 8 << 20  // bytes; each row is read once
	// tableBlock is the size in bytes from which on rows make a block of a table. Where
	// the checksum of one does not match, Pebble tries which bit has flipped: for this
	// half a second, for a row of 1 MB half a minute.
	tableBlock = 32 << 10
	// grace is how long those that use a store have to notice that it has failed.
	grace = 5 * time.Second
)

// A store is the Pebble store while something is done with it. What is done goes
// through do, as Pebble may end the process, panic, or stop half way with its
// locks held where it meets what it can not bear. Then the store has failed: it
// answers no more, and its files are closed under it.
//
// Rows come and go as whole tables only, by Ingest and Excise: Pebble's log and
// memtable are never written to, and nothing is ever compacted.
type store struct {
	db  *pebble.DB
	fs  *trackedFS
	dir string
	log *slog.Logger

	mu      sync.Mutex
	failure error         // that it has failed of
	failed  chan struct{} // closed when it has
	damaged string        // the file that Pebble first found damage in
}

// withStore opens the store, has something done, and closes it. The caller holds
// s.mu.
func (s *Snapshots) withStore(writing bool, do func(*store) error) error {
	st := &store{
		fs:     &trackedFS{FS: s.fs},
		dir:    s.fs.PathJoin(s.dir, storeName),
		log:    s.log,
		failed: make(chan struct{}),
	}
	if err := st.open(writing); err != nil {
		return err
	}
	err := do(st)
	return errors.Join(err, st.close())
}

func (s *store) open(writing bool) error {
	if writing {
		if err := s.removeLogs(); err != nil {
			return fmt.Errorf("open %s: %w", s.dir, err)
		}
	}
	opened := make(chan *pebble.DB, 1)
	err := s.do(func() error {
		db, err := pebble.Open(s.dir, s.options(writing))
		opened <- db
		return err
	})
	if err != nil {
		s.fs.abandon()
		return fmt.Errorf("open %s: %w", s.dir, s.wrap("snapshots", err))
	}
	s.db = <-opened
	return nil
}

// removeLogs removes the logs that Pebble makes though it is to write none: it
// would read them again at the next opening, and flush that on a goroutine of its
// own, where a failing disk is a panic that nobody can recover from.
func (s *store) removeLogs() error {
	names, err := s.fs.List(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		if err := s.fs.Remove(s.fs.PathJoin(s.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) options(writing bool) *pebble.Options {
	logger := storeLogger{s}
	o := &pebble.Options{
		FS:                          s.fs,
		ReadOnly:                    !writing,
		ErrorIfNotExists:            !writing,
		FormatMajorVersion:          pebble.FormatTableFormatV6, // the first whose tables have a checksum on each byte
		DisableWAL:                  true,
		DisableAutomaticCompactions: true,
		DisableTableStats:           true,
		MemTableSize:                storeMemTable,
		CacheSize:                   storeCache,
		Logger:                      logger,
		EventListener: &pebble.EventListener{
			DataCorruption:  s.noteDamage,
			BackgroundError: func(err error) { logger.Errorf("in the background: %v", err) },
		},
	}
	o.Experimental.CompactionScheduler = neverCompact{}
	o.Experimental.FileCacheShards = 1
	return o
}

// tableOptions are those of tables that are to be ingested. Of 43 bytes a key,
// MinLZ leaves 24 for 90 ns of writing and 26 ns of reading; Snappy 23 for 106 and
// 32; zstd 17 for 180 and 48; none at all 43 for 55 and 12.
func (s *store) tableOptions() sstable.WriterOptions {
	return sstable.WriterOptions{
		TableFormat: s.db.TableFormat(),
		BlockSize:   tableBlock,
		Compression: sstable.MinLZCompression,
	}
}

// close closes the store. One that has failed is abandoned: Pebble can not close
// it any more, and some 100 KB and three goroutines that wait for ever stay behind.
func (s *store) close() error {
	defer s.fs.abandon()
	if s.hasFailed() {
		return nil
	}
	if err := s.do(s.db.Close); err != nil {
		return fmt.Errorf("close %s: %w", s.dir, err)
	}
	return nil
}

func (s *store) hasFailed() bool {
	select {
	case <-s.failed:
		return true
	default:
		return false
	}
}

// do has something done on a goroutine of its own and returns what it returns,
// or why the store has failed. Then it may still be at work, if it does not end
// within the grace: the caller leaves alone what it writes to.
func (s *store) do(work func() error) error {
	if s.hasFailed() {
		return s.failure
	}
	done := make(chan error, 1)
	go func() {
		err := errors.New("it ended half way")
		defer func() {
			if p := recover(); p != nil {
				err = &storeError{fmt.Sprintf("panic: %v", p), []any{p}}
				s.log.Error("pebble panicked", "err", p, "stack", string(debug.Stack()))
				s.fail(err)
			}
			done <- err
		}()
		err = work()
	}()
	select {
	case err := <-done:
		if err != nil && s.hasFailed() {
			return s.failure
		}
		return err
	case <-s.failed:
	}
	select {
	case <-done:
	case <-time.After(grace):
	}
	return s.failure
}

// fail ends the use of the store. The first reason counts.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
		close(s.failed)
	}
}

// noteDamage is told by Pebble of a block whose checksum does not match.
func (s *store) noteDamage(info pebble.DataCorruptionInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged == "" {
		s.damaged = info.Path
	}
	s.log.Error("snapshots are damaged", "file", info.Path, "err", info.Details)
}

// wrap makes an error of Pebble a *CorruptError, unless it is of the disk or of
// the caller.
func (s *store) wrap(what string, err error) error {
	var (
		errno   syscall.Errno
		corrupt *CorruptError
	)
	switch {
	case err == nil || errors.As(err, &corrupt) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &CorruptError{What: what, File: s.damaged, Err: err}
}

// A table is a file of rows, from a first key to a last.
type table struct {
	name        string
	first, last []byte
}

// tables are all tables, by the generation of their rows.
func (s *store) tables() (map[uint64][]table, error) {
	all := make(map[uint64][]table)
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, err
	}
	for _, level := range levels {
		for _, t := range level {
			if first := t.Smallest.UserKey; len(first) == rowKeyBytes {
				generation := binary.BigEndian.Uint64(first)
				all[generation] = append(all[generation], table{t.FileNum.String() + ".sst", first, t.Largest.UserKey})
			}
		}
	}
	return all, nil
}

// removeRows removes the rows of some generations, first to last. What is on disk
// may still be there when it returns, but not when the store has been closed.
func (s *store) removeRows(ctx context.Context, first, last uint64) error {
	from, to := generationBounds(first, last)
	err := s.do(func() error { return s.db.Excise(ctx, pebble.KeyRange{Start: from, End: to}) })
	if err != nil {
		return fmt.Errorf("remove the rows of snapshots %d to %d: %w", first, last, err)
	}
	return nil
}

// neverCompact is the scheduler of compactions of a store that has none. That of
// Pebble has a clock that goes on when an opening fails.
type neverCompact struct{}

func (neverCompact) Register(int, pebble.DBForCompaction)                        {}
func (neverCompact) Unregister()                                                 {}
func (neverCompact) TrySchedule() (granted bool, _ pebble.CompactionGrantHandle) { return false, nil }
func (neverCompact) UpdateGetAllowedWithoutPermission()                          {}

// storeLogger is what Pebble writes to. It does not end the process.
type storeLogger struct{ *store }

func (l storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Warn("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return, says Pebble: what comes behind it is not made for that.
// So it ends the goroutine, and the store has failed.
func (l storeLogger) Fatalf(format string, args ...any) {
	err := &storeError{fmt.Sprintf(format, args...), args}
	l.log.Error("pebble gave up", "err", err)
	l.fail(err)
	runtime.Goexit()
}

// A storeError is what Pebble said before it would have ended the process.
type storeError struct {
	text  string
	about []any
}

func (e *storeError) Error() string { return e.text }

// Unwrap are the errors that it is about.
func (e *storeError) Unwrap() (all []error) {
	for _, one := range e.about {
		if err, ok := one.(error); ok {
			all = append(all, err)
		}
	}
	return all
}
