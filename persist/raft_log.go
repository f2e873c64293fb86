package persist

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// A RaftLog is a Log as raft uses one: its LogStore and MonotonicLogStore. All
// methods may be called by many at once. An entry that was stored is on disk when
// the Policy says so; what was deleted is gone from the disk as soon as DeleteRange
// returns, whatever the Policy, so that no entry comes back behind or among those
// that replaced it.
//
// What breaks the Log is told to its OnError; from then on nothing is stored or
// deleted, and what can be read stays right. A log that has lost its META can't be
// repaired: the segments alone do not say what was deleted. Such a node begins anew.
type RaftLog struct{ log *Log }

// Raft is the log as raft uses it, instead of Append and DropBefore.
func (l *Log) Raft() *RaftLog { return &RaftLog{l} }

// IsMonotonic implements raft.MonotonicLogStore: indexes have no gaps.
func (r *RaftLog) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore: 0 if there are no entries.
func (r *RaftLog) FirstIndex() (uint64, error) { return r.log.wal.FirstIndex() }

// LastIndex implements raft.LogStore: 0 if there are no entries.
func (r *RaftLog) LastIndex() (uint64, error) { return r.log.wal.LastIndex() }

// GetLog implements raft.LogStore: raft.ErrLogNotFound says that there is no such
// entry. What it reads is verified, and into's Data and Extensions are the
// caller's. Cost: a read of the file, two if the segment is full.
func (r *RaftLog) GetLog(index uint64, into *raft.Log) error {
	l := r.log
	l.reads.RLock()
	defer l.reads.RUnlock()
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
	*into = entry
	return nil
}

// StoreLog implements raft.LogStore.
func (r *RaftLog) StoreLog(entry *raft.Log) error { return r.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore. The entries have consecutive indexes, from
// LastIndex+1 on, or from any if there are none; Data and Extensions of an entry
// have at most 32 MB. Others are refused, and the log stays whole. After any other
// error it is broken.
//
// Cost: copies of the data, one write(2), and under Always one fdatasync. The first
// entry behind a gap costs a new segment.
func (r *RaftLog) StoreLogs(entries []*raft.Log) error {
	l := r.log
	l.changes.Lock()
	defer l.changes.Unlock()
	if err := l.Err(); err != nil || len(entries) == 0 {
		return err
	}
	first := entries[0].Index
	if l.First() <= l.Last() && first != l.Last()+1 || first == 0 {
		return fmt.Errorf("store entry %d in the log, which has %d to %d", first, l.First(), l.Last())
	}
	for i, e := range entries {
		if e.Index != first+uint64(i) {
			return fmt.Errorf("store entry %d in the log behind entry %d", e.Index, first+uint64(i)-1)
		}
		if n := len(e.Data) + len(e.Extensions); n > maxEntryBytes {
			return fmt.Errorf("store entry %d in the log: it has %d bytes, at most %d are allowed", e.Index, n, maxEntryBytes)
		}
	}
	if first != l.Last()+1 {
		l.startAt(first)
	}
	return l.store(entries)
}

// startAt says with which index the next entry of an empty log comes.
func (l *Log) startAt(first uint64) {
	l.back.Lock()
	defer l.back.Unlock()
	l.first.Store(first)
	l.last.Store(first - 1)
	l.synced.Store(first - 1)
}

// DeleteRange implements raft.LogStore: it deletes the entries from and to and all
// between, as far as there are any. If there are entries before and behind them, it
// refuses to, and the log stays whole. After any other error it is broken.
//
// Cost: all that was stored is synced, then META is written, for which a GetLog
// waits; where an end is deleted a new segment begins.
func (r *RaftLog) DeleteRange(from, to uint64) error {
	l := r.log
	l.changes.Lock()
	defer l.changes.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	first, last := l.First(), l.Last()
	switch {
	case from > to || to < first || from > last:
		return nil
	case from > first && to < last:
		return fmt.Errorf("delete entries %d to %d of the log, which has %d to %d: only its begin or its end can be deleted", from, to, first, last)
	}
	if err := l.Sync(); err != nil { // which raft-wal would do while readers wait
		return err
	}
	l.syncs.Add(1)
	defer l.syncs.Add(-1)
	l.back.Lock()
	defer l.back.Unlock()
	l.reads.Lock() // or raft-wal may close a file between a reader's finding and reading it
	defer l.reads.Unlock()
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
