package persist

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// A RaftLog is the LogStore and MonotonicLogStore that raft uses on a Log. Stored entries
// are on disk according to the Policy. Deleted entries are gone from the disk when
// DeleteRange returns, under any Policy, so that no deleted entry reappears after or among
// their replacements.
//
// An error that breaks the Log is passed to its OnError; nothing is stored or deleted
// from then on, and entries that can be read remain correct. A log that has lost its META
// cannot be repaired, because the segments alone do not show deletions. Such a node must
// start with an empty log.
//
// Concurrency: any goroutine may call any method.
type RaftLog struct{ log *Log }

// Raft returns the log for use by raft, in place of Append and DropBefore.
func (l *Log) Raft() *RaftLog { return &RaftLog{l} }

// IsMonotonic implements raft.MonotonicLogStore: indexes have no gaps.
func (r *RaftLog) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore: 0 if there are no entries.
func (r *RaftLog) FirstIndex() (uint64, error) { return r.log.wal.FirstIndex() }

// LastIndex implements raft.LogStore: 0 if there are no entries.
func (r *RaftLog) LastIndex() (uint64, error) { return r.log.wal.LastIndex() }

// GetLog implements raft.LogStore. It returns raft.ErrLogNotFound if there is no such entry. It
// verifies the entry, and returns the replacement of a skipped entry. The Data and Extensions of
// into belong to the caller. Cost: a read of the file, or two if the segment is full.
func (r *RaftLog) GetLog(index uint64, into *raft.Log) error {
	l := r.log
	l.readMu.RLock()
	defer l.readMu.RUnlock()
	if index < l.First() || index > l.Last() {
		return raft.ErrLogNotFound
	}
	var entry raft.Log
	err := l.wal.GetLog(index, &entry)
	if err == nil && entry.Index != index {
		err = fmt.Errorf("it is entry %d", entry.Index)
	}
	if err != nil {
		return fmt.Errorf("read entry %d of log %s: %w", index, l.dir, err)
	}
	entry.Data = l.skipped.replace(index, entry.Data)
	*into = entry
	return nil
}

// StoreLog implements raft.LogStore.
func (r *RaftLog) StoreLog(entry *raft.Log) error { return r.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore. Requires: the entries have consecutive indexes,
// from LastIndex+1 on, or from any index if the log is empty; Data and Extensions of an
// entry have at most 32 MB together. Other entries are rejected, and the log remains
// usable. After any other error it is broken.
//
// Cost: copies of the data, a write(2), and under Always a fdatasync. The first entry after
// a gap costs a new segment.
func (r *RaftLog) StoreLogs(entries []*raft.Log) error {
	l := r.log
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Err(); err != nil || len(entries) == 0 {
		return err
	}
	first := entries[0].Index
	if l.First() <= l.Last() && first != l.Last()+1 || first == 0 {
		return fmt.Errorf("store entry %d in the log, which has %d to %d", first, l.First(), l.Last())
	}
	for i, e := range entries {
		if e.Index != first+uint64(i) {
			return fmt.Errorf("store entry %d in the log after entry %d", e.Index, first+uint64(i)-1)
		}
		if n := len(e.Data) + len(e.Extensions); n > maxEntryBytes {
			return fmt.Errorf("store entry %d in the log: it has %d bytes, at most %d are allowed", e.Index, n, maxEntryBytes)
		}
	}
	if first != l.Last()+1 {
		l.resetTo(first)
	}
	return l.store(entries)
}

// resetTo sets the index of the next entry of an empty log.
func (l *Log) resetTo(first uint64) {
	l.truncateMu.Lock()
	defer l.truncateMu.Unlock()
	l.first.Store(first)
	l.last.Store(first - 1)
	l.synced.Store(first - 1)
}

// DeleteRange implements raft.LogStore: it deletes the existing entries from index from to
// index to. If there are entries both before and after them it returns an error, and the
// log remains usable. After any other error it is broken.
//
// Cost: all stored entries are synced, then META is written, and GetLog blocks meanwhile;
// deleting the end starts a new segment.
func (r *RaftLog) DeleteRange(from, to uint64) error {
	l := r.log
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	first, last := l.First(), l.Last()
	switch {
	case from > to || to < first || from > last:
		return nil
	case from > first && to < last:
		return fmt.Errorf("delete entries %d to %d of the log, which has %d to %d: only entries at its start or end can be "+
			"deleted", from, to, first, last)
	}
	if err := l.Sync(); err != nil { // raft-wal would sync while readers block
		return err
	}
	l.syncs.Add(1)
	defer l.syncs.Add(-1)
	l.truncateMu.Lock()
	defer l.truncateMu.Unlock()
	l.readMu.Lock() // otherwise raft-wal may close a file between lookup and read of an entry
	defer l.readMu.Unlock()
	if err := l.wal.DeleteRange(from, to); err != nil {
		return l.fail(fmt.Errorf("delete entries %d to %d of the log: %w", from, to, err))
	}
	if from <= first {
		l.first.Store(min(to, last) + 1)
		return nil
	}
	l.last.Store(from - 1)
	l.synced.Store(min(l.Synced(), from-1))
	return nil
}
