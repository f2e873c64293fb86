package persist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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
	// tableBlock is the target size in bytes of the blocks in a table. If the checksum of
	// a block does not match, Pebble searches for a flipped bit: that takes half a second
	// for this size, and half a minute for a row of 1 MB.
	tableBlock = 32 << 10
	// failureGrace is the time for users of a failed store to return.
	failureGrace = 5 * time.Second
)

// A store is the Pebble store during a single operation. All calls of Pebble go through do,
// because Pebble may end the process, panic, or end a goroutine that holds locks when it
// meets an error. Then the store has failed: it rejects all calls, and its files are
// closed.
//
// Rows are added and removed only as whole tables, by Ingest and Excise: Pebble's log and
// memtable are never written to, and nothing is ever compacted.
type store struct {
	db  *pebble.DB
	fs  *trackedFS
	dir string
	log *slog.Logger

	mu      sync.Mutex
	failure error         // the error that made it fail
	failed  chan struct{} // closed when it has failed
	damaged string        // the first file that Pebble found damaged
}

// withStore opens the store, calls do, and closes the store. Requires: s.mu is held.
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

// removeLogs removes the logs that Pebble creates although it writes none. At the next
// opening it would replay them and flush the result on a goroutine of its own, where an
// error of the disk is a panic that cannot be recovered.
func (s *store) removeLogs() error {
	return removeMatching(s.fs, s.dir, func(name string) bool { return strings.HasSuffix(name, ".log") })
}

func (s *store) options(writing bool) *pebble.Options {
	logger := storeLogger{s}
	o := &pebble.Options{
		FS:                          s.fs,
		ReadOnly:                    !writing,
		ErrorIfNotExists:            !writing,
		FormatMajorVersion:          pebble.FormatTableFormatV6, // the first with checksums on all bytes of tables
		DisableWAL:                  true,
		DisableAutomaticCompactions: true,
		DisableTableStats:           true,
		MemTableSize:                storeMemTable,
		CacheSize:                   storeCache,
		Logger:                      logger,
		EventListener: &pebble.EventListener{
			DataCorruption:  s.noteDamage,
			BackgroundError: func(err error) { logger.Errorf("background error: %v", err) },
		},
	}
	o.Experimental.CompactionScheduler = neverCompact{}
	o.Experimental.FileCacheShards = 1
	return o
}

// tableOptions returns the options for tables to be ingested. The compression was chosen by
// measurement, per key: MinLZ reduces 43 bytes to 24, in 90 ns to write and 26 ns to read;
// Snappy to 23, 106 and 32 ns; zstd to 17, 180 and 48 ns; no compression takes 55 and 12
// ns.
func (s *store) tableOptions() sstable.WriterOptions {
	return sstable.WriterOptions{
		TableFormat: s.db.TableFormat(),
		BlockSize:   tableBlock,
		Compression: sstable.MinLZCompression,
	}
}

// close closes the store. A failed store is abandoned, because Pebble can no longer close
// it: about 100 KB and three blocked goroutines are leaked.
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

// do calls work on a goroutine of its own and returns its error, or the failure of the
// store. After a failure work may still be running if it has not returned within
// failureGrace, so the caller must not touch data that work writes.
func (s *store) do(work func() error) error {
	if s.hasFailed() {
		return s.failure
	}
	done := make(chan error, 1)
	go func() {
		err := errors.New("it exited early")
		defer func() {
			if p := recover(); p != nil {
				err = &storeError{fmt.Sprintf("panic: %v", p), []any{p}}
				s.log.Error("pebble panicked", "error", p, "stack", string(debug.Stack()))
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
	case <-time.After(failureGrace):
	}
	return s.failure
}

// fail marks the store as failed. The first error is kept.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
		close(s.failed)
	}
}

// noteDamage is called by Pebble for a block with a wrong checksum.
func (s *store) noteDamage(info pebble.DataCorruptionInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged == "" {
		s.damaged = info.Path
	}
	s.log.Error("snapshots are damaged", "file", info.Path, "error", info.Details)
}

// wrap converts an error of Pebble to a *CorruptError, unless the disk or the caller
// caused it.
func (s *store) wrap(what string, err error) error {
	var (
		errno   syscall.Errno
		corrupt *CorruptError
	)
	switch {
	case err == nil || errors.As(err, &corrupt) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &errno) && !isMissing(err):
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &CorruptError{What: what, File: s.damaged, Err: err}
}

// A table is a file of rows with keys from first to last.
type table struct {
	name        string
	first, last []byte
}

// tables returns all tables, by the generation of their rows.
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

// removeRows removes the rows of generations first to last. Their files may exist until
// the store is closed.
func (s *store) removeRows(ctx context.Context, first, last uint64) error {
	from, to := generationBounds(first, last)
	err := s.do(func() error { return s.db.Excise(ctx, pebble.KeyRange{Start: from, End: to}) })
	if err != nil {
		return fmt.Errorf("remove the rows of snapshots %d to %d: %w", first, last, err)
	}
	return nil
}

// neverCompact is the compaction scheduler of a store that never compacts. Pebble's own
// has a timer that keeps running when an opening fails.
type neverCompact struct{}

func (neverCompact) Register(int, pebble.DBForCompaction)                        {}
func (neverCompact) Unregister()                                                 {}
func (neverCompact) TrySchedule() (granted bool, _ pebble.CompactionGrantHandle) { return false, nil }
func (neverCompact) UpdateGetAllowedWithoutPermission()                          {}

// storeLogger is Pebble's logger. It does not end the process.
type storeLogger struct{ *store }

func (l storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Warn("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return, because Pebble's code after the call relies on that. So it fails
// the store and ends the goroutine.
func (l storeLogger) Fatalf(format string, args ...any) {
	err := &storeError{fmt.Sprintf(format, args...), args}
	l.log.Error("pebble reported a fatal error", "error", err)
	l.fail(err)
	runtime.Goexit()
}

// A storeError is a fault that would have made Pebble end the process.
type storeError struct {
	text  string
	about []any
}

func (e *storeError) Error() string { return e.text }

// Unwrap returns the errors among the arguments of the message.
func (e *storeError) Unwrap() (all []error) {
	for _, one := range e.about {
		if err, ok := one.(error); ok {
			all = append(all, err)
		}
	}
	return all
}
