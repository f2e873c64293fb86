package persist

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"

	"limitsrv/internal/invariants"
)

// LogOptions configures a Log.
type LogOptions struct {
	Policy Policy
	// SegmentBytes is the size of a segment file. It is reserved when the file is created:
	// 4 KB to 1 GB; 0 means 64 MB.
	SegmentBytes int64
	// First is the index of the first entry of a new log; 0 means 1. An existing log
	// continues at its end.
	First uint64
	// Least is the index of an entry that is known to be on disk. A log that ends before
	// it is damaged.
	Least uint64
	// SameBoot reports that the machine has not gone down since the log was last opened,
	// so that only the last write of the process may be incomplete.
	SameBoot bool
	// OnError, if not nil, is called once with the error that broke the log, from any
	// goroutine. It must not block and must not call the log.
	OnError func(error)

	syncEvery time.Duration // for tests; 0 means a second
}

const (
	defaultSegmentBytes = 64 << 20
	minSegmentBytes     = 4 << 10
	maxSegmentBytes     = 1 << 30
)

// check validates the options and sets defaults.
func (o *LogOptions) check() error {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, defaultSegmentBytes)
	if o.SegmentBytes < minSegmentBytes || o.SegmentBytes > maxSegmentBytes {
		return fmt.Errorf("a log segment of %d bytes, %d to %d are allowed", o.SegmentBytes, minSegmentBytes, maxSegmentBytes)
	}
	if int(o.Policy) >= len(policies) {
		return fmt.Errorf("unknown fsync policy %d", o.Policy)
	}
	o.First = cmp.Or(o.First, 1)
	o.syncEvery = cmp.Or(o.syncEvery, time.Second)
	return nil
}

// A Log is a sequence of entries with consecutive indexes, in segment files of a directory.
// It is built on raft-wal, with a file layer, META, codec and recovery of its own.
//
// After a write, sync or change of segment that failed, a Log is broken for good, because
// the state of its files is unknown. Entries that can be read remain correct.
//
// Concurrency: all methods may be called by any goroutine; those that change the log are
// serialised. A log used by raft is changed only through RaftLog: Append and DropBefore
// must not be used with it.
type Log struct {
	fs      vfs.FS
	dir     string
	options LogOptions
	files   *files
	meta    *meta
	codec   *codec
	wal     *wal.WAL
	dropped *Drop // nil: no end was cut off
	skipped SkippedEntries

	entry   raft.Log    // the entry that Append stores
	entries []*raft.Log // holds entry only

	first, last, synced atomic.Uint64
	// held to append, delete or close: raft-wal closed during another call blocks for ever
	writeMu    sync.Mutex
	truncateMu sync.Mutex   // held while last and synced may decrease, and during a Sync
	readMu     sync.RWMutex // read-locked by GetLog, locked by DeleteRange
	syncs      atomic.Int32 // syncs and deletions under way
	rotating   atomic.Bool  // a full segment is being replaced
	err        atomic.Pointer[error]

	closed     atomic.Bool
	stop, done chan struct{} // of the sync goroutine
}

// OpenLog opens the log in dir, or creates a log. It recovers from a crash: an unfinished
// write at the end is cut off, and reported by Dropped. If the end does not look like the
// result of a killed process or, unless SameBoot, of a machine that went down under the
// policy of that time, OpenLog returns a *CorruptError and changes nothing. Older entries
// are verified when they are read. Data of a later version is a *NewerError.
func OpenLog(fs vfs.FS, dir string, o LogOptions) (*Log, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	l := &Log{fs: fs, dir: dir, options: o, files: newFiles(fs, o.Policy), stop: make(chan struct{}),
		done: make(chan struct{})}
	l.entries = []*raft.Log{&l.entry}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	if o.Policy == EverySecond {
		go l.syncInBackground()
	} else {
		close(l.done)
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if l.skipped, err = readSkipped(l.fs, l.dir); err != nil {
		return err
	}
	state, err := readMeta(l.fs, l.dir)
	if err = missingMeta(l.fs, l.dir, err); isMissing(err) {
		state, err = l.create()
	}
	if err != nil {
		return err
	}
	l.codec = newCodec(state.codec, &l.synced)
	last, state, err := l.repairTail(state)
	if err != nil {
		return err
	}
	l.meta = &meta{files: l.files, dir: l.dir, prepare: l.options.SegmentBytes, onError: func(err error) { l.fail(err) },
		state: state}
	if l.wal, err = l.openWAL(); err != nil {
		return err
	}
	l.files.bytes.Store(0) // raft-wal has deleted unlisted segments
	for _, g := range state.Segments {
		info, err := l.fs.Stat(l.fs.PathJoin(l.dir, segment.FileName(g)))
		if err != nil {
			return err
		}
		l.files.bytes.Add(info.Size())
	}
	l.first.Store(state.Segments[0].MinIndex)
	l.last.Store(last)
	l.synced.Store(last)
	if got, err := l.wal.LastIndex(); err != nil || got != last && last >= l.First() {
		return errors.Join(fmt.Errorf("raft-wal recovered up to entry %d instead of %d", got, last), err, l.wal.Close())
	}
	return nil
}

// openWAL opens raft-wal on repaired files.
func (l *Log) openWAL() (w *wal.WAL, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &CorruptError{File: l.dir, Reason: fmt.Sprint("raft-wal panics: ", p)}
		}
	}()
	return wal.Open(l.dir,
		wal.WithCodec(l.codec),
		wal.WithMetaStore(l.meta),
		wal.WithSegmentFiler(filer{segment.NewFiler(l.dir, l.files), l}),
		wal.WithSegmentSize(int(l.options.SegmentBytes)),
		wal.WithLogger(hclog.NewNullLogger()),
	)
}

// Append writes an entry of at most 32 MB and returns its index. When it returns, the
// entry is on disk under Always, and in the page cache under the other policies. It may
// block while Busy, or during another change. A larger entry is rejected; after any other
// error the log is broken, and every later Append returns that error.
//
// Cost: a write(2), and copies of data.
func (l *Log) Append(data []byte) (index uint64, err error) {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Err(); err != nil {
		return 0, err
	}
	if len(data) > maxEntryBytes {
		return 0, fmt.Errorf("append to the log: an entry of %d bytes, at most %d are allowed", len(data), maxEntryBytes)
	}
	index = l.last.Load() + 1
	l.entry = raft.Log{Index: index, Data: data}
	err = l.store(l.entries)
	l.entry.Data = nil
	if err != nil {
		return 0, err
	}
	return index, nil
}

// store writes entries that follow the last entry, in a write and as a single commit.
// Requires: writeMu is held.
func (l *Log) store(entries []*raft.Log) error {
	if invariants.Enabled {
		l.checkNext(entries)
	}
	if err := l.wal.StoreLogs(entries); err != nil {
		return l.fail(fmt.Errorf("append to the log: %w", err))
	}
	last := entries[len(entries)-1].Index
	l.last.Store(last)
	if l.options.Policy == Always {
		l.synced.Store(last)
	}
	l.files.writes.mark() // a sync since the write has not covered last
	return nil
}

// checkNext checks that entries continue the log, and that our last index is raft-wal's.
func (l *Log) checkNext(entries []*raft.Log) {
	first, last, synced := l.First(), l.Last(), l.Synced()
	if first > last+1 || synced > last {
		invariants.Violated("a log of the entries %d to %d is synced up to entry %d", first, last, synced)
	}
	for i, e := range entries {
		if want := last + 1 + uint64(i); e.Index != want {
			invariants.Violated("entry %d is stored, want entry %d", e.Index, want)
		}
	}
	if stored, err := l.wal.LastIndex(); err == nil && first <= last && stored != last {
		invariants.Violated("the last entry of raft-wal is %d, want %d", stored, last)
	}
}

// Dropped returns the end that was cut off when the log was opened, nil if no end was.
func (l *Log) Dropped() *Drop { return l.dropped }

// Skipped returns the skipped entries.
func (l *Log) Skipped() SkippedEntries { return l.skipped }

// Name returns the name of the directory.
func (l *Log) Name() string { return l.fs.PathBase(l.dir) }

// First returns the index of the first entry, or of the next entry if there are no entries.
func (l *Log) First() uint64 { return l.first.Load() }

// Last returns the index of the last entry, or First-1 if there are no entries.
func (l *Log) Last() uint64 { return l.last.Load() }

// Synced returns an index such that all entries up to it are on disk.
func (l *Log) Synced() uint64 { return l.synced.Load() }

// Bytes returns the size of the segment files, without reserved space.
func (l *Log) Bytes() int64 { return l.files.bytes.Load() }

// Segments returns the number of segment files.
func (l *Log) Segments() int { return len(l.meta.current().Segments) }

// Short reports whether the disk had too little room for the full size of the newest segment.
func (l *Log) Short() bool { return l.files.short.Load() }

// Busy reports that an Append may block on the disk now, because of a sync or a change of
// segment.
func (l *Log) Busy() bool { return l.syncs.Load() > 0 || l.rotating.Load() }

// Err returns the error that broke the log, nil if it is not broken.
func (l *Log) Err() error {
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

// fail breaks the log and returns the first error that did.
func (l *Log) fail(err error) error {
	if l.err.CompareAndSwap(nil, &err) && l.options.OnError != nil {
		l.options.OnError(err)
	}
	l.rotating.Store(false)
	return l.Err()
}

// Sync puts all entries that were appended before the call on disk.
func (l *Log) Sync() error {
	if err := l.Err(); err != nil {
		return err
	}
	l.syncs.Add(1)
	defer l.syncs.Add(-1)
	l.truncateMu.Lock()
	defer l.truncateMu.Unlock()
	last := l.Last()
	if err := l.files.sync(); err != nil {
		return l.fail(err)
	}
	for {
		synced := l.Synced()
		if synced >= last || l.synced.CompareAndSwap(synced, last) {
			return nil
		}
	}
}

// syncInBackground syncs in each period with a write and in the period after. It sets no
// timer while nothing is written; the next write is then synced within a period.
func (l *Log) syncInBackground() {
	defer close(l.done)
	ticker := time.NewTicker(l.options.syncEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
		}
		wrote := l.files.writes.seen()
		if l.Sync() != nil {
			return
		}
		if wrote {
			continue
		}
		ticker.Stop()
		if !l.files.writes.wait(l.stop) {
			return
		}
		ticker.Reset(l.options.syncEvery)
	}
}

// DropBefore deletes the segments that hold only entries before index. First returns the
// first entry left.
func (l *Log) DropBefore(index uint64) error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	first := l.First()
	keep := first
	for _, g := range l.meta.current().Segments {
		if g.BaseIndex <= index {
			keep = max(keep, g.BaseIndex)
		}
	}
	if keep == first {
		return nil
	}
	l.syncs.Add(1)
	defer l.syncs.Add(-1)
	if err := l.wal.DeleteRange(first, keep-1); err != nil {
		return l.fail(fmt.Errorf("drop the log before entry %d: %w", index, err))
	}
	l.first.Store(keep)
	return nil
}

var errLogClosed = errors.New("the log is closed")

// Close syncs, under any policy, and closes the files; a broken log is only closed. It
// waits for a sync that is under way, so it hangs if the disk does. Later calls do
// nothing.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	var err error
	if l.Err() == nil { // otherwise its error has been reported
		err = l.Sync()
	}
	l.err.CompareAndSwap(nil, &errLogClosed)
	close(l.stop)
	<-l.done
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	err = errors.Join(err, l.wal.Close())
	l.files.closePrepared()
	return err
}
