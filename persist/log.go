package persist

import (
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
)

// LogOptions configure a Log.
type LogOptions struct {
	Policy Policy
	// SegmentBytes is the size of a segment file, which is reserved as a whole when
	// it is made: 4 KB to 1 GB; 0 means 64 MB.
	SegmentBytes int64
	// First is the index of the first entry of a new log; 0 means 1. A log that is
	// there already goes on where it ended.
	First uint64
	// Least is up to which entry the log is known to be on disk. One that ends before
	// is damaged.
	Least uint64
	// SameBoot says that the machine has not gone down since the log was last opened, so
	// that all that was written is there, but for what the process was writing as it ended.
	SameBoot bool
	// OnError, if not nil, is called once with what broke the log, from any
	// goroutine. It must not block and not call the log.
	OnError func(error)

	syncEvery time.Duration // for tests; 0 means a second
}

const (
	defaultSegmentBytes = 64 << 20
	minSegmentBytes     = 4 << 10
	maxSegmentBytes     = 1 << 30
)

// check fills in what is not given.
func (o *LogOptions) check() error {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.SegmentBytes < minSegmentBytes || o.SegmentBytes > maxSegmentBytes {
		return fmt.Errorf("a log segment of %d bytes, %d to %d are allowed", o.SegmentBytes, minSegmentBytes, maxSegmentBytes)
	}
	if int(o.Policy) >= len(policies) {
		return fmt.Errorf("unknown fsync policy %d", o.Policy)
	}
	if o.First == 0 {
		o.First = 1
	}
	if o.syncEvery == 0 {
		o.syncEvery = time.Second
	}
	return nil
}

// A Log is a sequence of entries with consecutive indexes, in segment files of
// one directory. It stands on raft-wal, with its own file layer, META, codec and
// recovery.
//
// After a write, sync or change of segment that failed a Log is broken for good:
// nobody knows what of it is on disk. What can be read of it stays right.
//
// All methods may be called by many at once; those that change the log take turns.
// Raft has other methods to change it; whoever uses these uses neither Append nor
// DropBefore.
type Log struct {
	fs      vfs.FS
	dir     string
	options LogOptions
	files   *files
	meta    *meta
	codec   *codec
	wal     *wal.WAL
	dropped *Drop // nil: nothing was

	entry   raft.Log    // what Append stores
	entries []*raft.Log // it alone

	first, last, synced atomic.Uint64
	changes             sync.Mutex   // held by who appends, deletes or closes: raft-wal, closed beside, waits for ever
	back                sync.Mutex   // held while last and synced may go back, and during a Sync
	reads               sync.RWMutex // held shared by who reads for raft, and by who deletes
	syncs               atomic.Int32 // under way, and drops
	changing            atomic.Bool  // from a full segment to the next
	err                 atomic.Pointer[error]

	closed     atomic.Bool
	stop, done chan struct{} // of the goroutine that syncs
}

// OpenLog opens the log in dir, or makes one. It recovers from a crash: what was
// being written at the end is cut off, and Dropped says so. But if that end does not
// look like one that a crash of the process leaves or, unless it is SameBoot, one of the
// machine under the policy that it was written with, it returns a *CorruptError and
// changes nothing. The data of older entries is verified as it
// is read. Data of a later version is a *NewerError.
func OpenLog(fs vfs.FS, dir string, o LogOptions) (*Log, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	l := &Log{fs: fs, dir: dir, options: o, files: newFiles(fs, o.Policy), stop: make(chan struct{}), done: make(chan struct{})}
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

func (l *Log) open() error {
	state, err := readMeta(l.fs, l.dir)
	if err = missingMeta(l.fs, l.dir, err); isMissing(err) {
		state, err = l.make()
	}
	if err != nil {
		return err
	}
	l.codec = newCodec(state.codec, &l.synced)
	last, state, err := l.recover(state)
	if err != nil {
		return err
	}
	l.meta = &meta{files: l.files, dir: l.dir, prepare: l.options.SegmentBytes, failed: func(err error) { l.fail(err) }, state: state}
	if l.wal, err = l.openWAL(); err != nil {
		return err
	}
	l.files.bytes.Store(0) // raft-wal has deleted what is none of the log
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
		return errors.Join(fmt.Errorf("raft-wal recovered to entry %d, %d was expected", got, last), err, l.wal.Close())
	}
	return nil
}

// openWAL opens raft-wal on files that have been recovered.
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

// Append writes an entry, of at most 32 MB, and returns its index. Under Always
// it is on disk when Append returns, under the others in the hands of the
// operating system. While Busy, or beside another change, it may wait. What is too large is refused; after
// any other error the log is broken, and every later Append returns that error.
//
// Cost: one write(2), and copies of data.
func (l *Log) Append(data []byte) (index uint64, err error) {
	l.changes.Lock()
	defer l.changes.Unlock()
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

// store writes entries that follow the last, in one write and as one commit.
func (l *Log) store(entries []*raft.Log) error {
	if err := l.wal.StoreLogs(entries); err != nil {
		return l.fail(fmt.Errorf("append to the log: %w", err))
	}
	last := entries[len(entries)-1].Index
	l.last.Store(last)
	if l.options.Policy == Always {
		l.synced.Store(last)
	}
	l.files.writes.stir() // a sync since the write has not seen last
	return nil
}

// Dropped is the end that was cut off as the log was opened, nil if none was.
func (l *Log) Dropped() *Drop { return l.dropped }

// Name is that of the directory.
func (l *Log) Name() string { return l.fs.PathBase(l.dir) }

// First is the index of the first entry, or if there is none of the next.
func (l *Log) First() uint64 { return l.first.Load() }

// Last is the index of the last entry; if there is none, one before First.
func (l *Log) Last() uint64 { return l.last.Load() }

// Synced is the index up to which all is known to be on disk.
func (l *Log) Synced() uint64 { return l.synced.Load() }

// Bytes is the size of the segment files, without what is reserved.
func (l *Log) Bytes() int64 { return l.files.bytes.Load() }

// Segments is how many files there are.
func (l *Log) Segments() int { return len(l.meta.now().Segments) }

// Busy says that an Append now might wait for the disk: a sync or a change of
// segment is under way.
func (l *Log) Busy() bool { return l.syncs.Load() > 0 || l.changing.Load() }

// Err is what broke the log, nil if it is whole.
func (l *Log) Err() error {
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

// fail breaks the log and returns what broke it first.
func (l *Log) fail(err error) error {
	if l.err.CompareAndSwap(nil, &err) && l.options.OnError != nil {
		l.options.OnError(err)
	}
	l.changing.Store(false)
	return l.Err()
}

// Sync puts all on disk that was appended before the call.
func (l *Log) Sync() error {
	if err := l.Err(); err != nil {
		return err
	}
	l.syncs.Add(1)
	defer l.syncs.Add(-1)
	l.back.Lock()
	defer l.back.Unlock()
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

// syncInBackground syncs in each period in which something was written, and in the one
// after it. While nothing is written it sets no timer; what is written then is synced within a
// period of it.
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
		wrote := l.files.writes.over()
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

// DropBefore deletes the segments all of whose entries are before index. First
// says what is left.
func (l *Log) DropBefore(index uint64) error {
	l.changes.Lock()
	defer l.changes.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	first := l.First()
	keep := first
	for _, g := range l.meta.now().Segments {
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

// Close puts all on disk, whatever the policy, and closes the files; of a broken
// log it only closes them. It waits for a sync that is under way, so it hangs
// with the disk. Only the first time counts.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	err := l.Err()
	if err == nil {
		err = l.Sync()
	} else {
		err = nil // it has been told
	}
	l.err.CompareAndSwap(nil, &errLogClosed)
	close(l.stop)
	<-l.done
	l.changes.Lock()
	defer l.changes.Unlock()
	err = errors.Join(err, l.wal.Close())
	l.files.closePrepared()
	return err
}
