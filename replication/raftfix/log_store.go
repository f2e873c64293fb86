package raftfix

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// A LogStore is raft's LogStore of a node: the latest entries stay in memory, up to
// maxRecentBytes, for followers and the FSM, and stores are timed. Raft's own cache counts
// entries, and one entry may be small or a transaction of 16 MB.
type LogStore struct {
	raft.LogStore
	o LogStoreOptions

	mu     sync.RWMutex
	recent map[uint64]*raft.Log
	oldest uint64 // of recent
	next   uint64 // the index after the last of recent

	// stored is the last entry of decisions that was stored since the start, 0 if no entry
	// was, and storedAt a time, by Monotonic, just before it was stored.
	stored   uint64
	storedAt time.Duration
	bytes    int
}

// maxRecentBytes bounds the entries kept in memory.
const maxRecentBytes = 16 << 20

// LogStoreOptions configure a LogStore.
type LogStoreOptions struct {
	// Snapshots has the entry that represents the end of the newest snapshot; nil: there
	// are no snapshots.
	Snapshots *SnapshotStore
	Monotonic func() time.Duration
	Writing   *persist.Stopwatch // times stores
	// Stored is called after each store, on its goroutine, with the time that it took.
	Stored func(took time.Duration)
}

// NewLogStore returns a [LogStore] that keeps its entries in store.
func NewLogStore(store raft.LogStore, o LogStoreOptions) *LogStore {
	return &LogStore{LogStore: store, o: o, recent: make(map[uint64]*raft.Log)}
}

// IsMonotonic reports that indexes are consecutive: raft must empty the log before a
// snapshot replaces it.
func (l *LogStore) IsMonotonic() bool { return true }

// GetLog implements [raft.LogStore].
func (l *LogStore) GetLog(index uint64, to *raft.Log) error {
	l.mu.RLock()
	entry := l.recent[index]
	l.mu.RUnlock()
	if entry != nil {
		*to = *entry
		return nil
	}
	err := l.LogStore.GetLog(index, to)
	if errors.Is(err, raft.ErrLogNotFound) && l.o.Snapshots != nil {
		if end := l.o.Snapshots.lastEntry(index); end != nil {
			*to = *end
			return nil
		}
	}
	return err
}

// StoreLog implements [raft.LogStore].
func (l *LogStore) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements [raft.LogStore].
func (l *LogStore) StoreLogs(entries []*raft.Log) error {
	began := l.o.Monotonic()
	l.o.Writing.Start()
	err := l.LogStore.StoreLogs(entries)
	l.o.Writing.Stop()
	if err != nil {
		return err
	}
	took := l.o.Monotonic() - began
	l.mu.Lock()
	for _, e := range entries {
		l.addRecent(e)
		if e.Type == raft.LogCommand {
			l.stored, l.storedAt = e.Index, began
		}
	}
	l.mu.Unlock()
	l.o.Stored(took)
	return nil
}

// LastStored returns the last entry of decisions that was stored since the start, 0 if no
// entry was, and a time shortly before that, by Monotonic.
func (l *LogStore) LastStored() (index uint64, at time.Duration) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.stored, l.storedAt
}

// addRecent caches an entry and drops the oldest entries beyond maxRecentBytes. Requires:
// mu is held.
func (l *LogStore) addRecent(e *raft.Log) {
	if e.Index != l.next {
		l.clearRecent()
		l.oldest = e.Index
	}
	l.next = e.Index + 1
	l.recent[e.Index] = e
	l.bytes += entryCost(e)
	for l.bytes > maxRecentBytes && l.oldest < e.Index {
		l.bytes -= entryCost(l.recent[l.oldest])
		delete(l.recent, l.oldest)
		l.oldest++
	}
}

// entryCost returns an entry's size in memory.
func entryCost(e *raft.Log) int { return len(e.Data) + 128 }

// clearRecent empties the cache. Requires: mu is held.
func (l *LogStore) clearRecent() {
	clear(l.recent)
	l.oldest, l.next, l.bytes = 0, 0, 0
}

// DeleteRange implements [raft.LogStore].
func (l *LogStore) DeleteRange(from, to uint64) error {
	l.mu.Lock()
	l.clearRecent()
	if l.stored <= to {
		l.stored, l.storedAt = 0, 0
	}
	l.mu.Unlock()
	return l.LogStore.DeleteRange(from, to)
}
