package replication

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// A cachedLog is raft's LogStore of a node: the latest entries stay in memory, up to
// maxRecentBytes, for followers and the FSM, and stores are timed. Raft's own cache counts
// entries, and one entry may be small or a transaction of 16 MB.
type cachedLog struct {
	raft.LogStore
	mono func() time.Duration
	// snapshotEntry, unless nil, returns the entry that represents one that is not in the
	// log.
	snapshotEntry func(index uint64) *raft.Log

	storing    *persist.Stopwatch // stores of the log
	storeTimes latencyHistogram

	mu     sync.RWMutex
	recent map[uint64]*raft.Log
	oldest uint64 // of recent
	next   uint64 // the index after the last of recent

	// stored is the last entry of decisions that was stored since the start, 0 if none,
	// and storedAt a time, by mono, just before it was stored.
	stored   uint64
	storedAt time.Duration
	bytes    int
}

// maxRecentBytes bounds the entries kept in memory.
const maxRecentBytes = 16 << 20

func newCachedLog(store raft.LogStore, mono func() time.Duration, disk *persist.DiskWatch) *cachedLog {
	return &cachedLog{LogStore: store, mono: mono, storing: disk.Stopwatch(), recent: make(map[uint64]*raft.Log)}
}

// IsMonotonic reports that indexes are consecutive: raft must empty the log before a
// snapshot replaces it.
func (l *cachedLog) IsMonotonic() bool { return true }

func (l *cachedLog) GetLog(index uint64, to *raft.Log) error {
	l.mu.RLock()
	entry := l.recent[index]
	l.mu.RUnlock()
	if entry != nil {
		*to = *entry
		return nil
	}
	err := l.LogStore.GetLog(index, to)
	if errors.Is(err, raft.ErrLogNotFound) && l.snapshotEntry != nil {
		if end := l.snapshotEntry(index); end != nil {
			*to = *end
			return nil
		}
	}
	return err
}

func (l *cachedLog) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l *cachedLog) StoreLogs(entries []*raft.Log) error {
	began := l.mono()
	l.storing.Start()
	err := l.LogStore.StoreLogs(entries)
	l.storing.Stop()
	if err != nil {
		return err
	}
	l.storeTimes.add(l.mono() - began)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		l.addRecent(e)
		if e.Type == raft.LogCommand {
			l.stored, l.storedAt = e.Index, began
		}
	}
	return nil
}

// lastStored returns the last entry of decisions that was stored since the start, 0 if
// none, and a time shortly before that, by mono.
func (l *cachedLog) lastStored() (index uint64, at time.Duration) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.stored, l.storedAt
}

// addRecent caches an entry and drops the oldest ones beyond maxRecentBytes. Requires: mu
// is held.
func (l *cachedLog) addRecent(e *raft.Log) {
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
func (l *cachedLog) clearRecent() {
	clear(l.recent)
	l.oldest, l.next, l.bytes = 0, 0, 0
}

func (l *cachedLog) DeleteRange(from, to uint64) error {
	l.mu.Lock()
	l.clearRecent()
	if l.stored <= to {
		l.stored, l.storedAt = 0, 0
	}
	l.mu.Unlock()
	return l.LogStore.DeleteRange(from, to)
}

// timedVotes is a StableStore that times its writes. Raft v1.7.3 panics if a write fails.
// Instead timedVotes calls failed, which must end the process, and ends raft's goroutine,
// because nothing that it does is valid from then on.
type timedVotes struct {
	*voteStore
	writing *persist.Stopwatch
	failed  func(error)
	started atomic.Bool // raft runs; before, NewRaft writes back the values it read, on its caller's goroutine
}

func (v *timedVotes) timed(write func() error) error {
	v.writing.Start()
	defer v.writing.Stop()
	if err := write(); err != nil {
		v.failed(fmt.Errorf("the term or vote can't be written: %w", err))
		if v.started.Load() {
			runtime.Goexit()
		}
	}
	return nil
}

func (v *timedVotes) Set(key, value []byte) error {
	return v.timed(func() error { return v.voteStore.Set(key, value) })
}

func (v *timedVotes) SetUint64(key []byte, n uint64) error {
	return v.timed(func() error { return v.voteStore.SetUint64(key, n) })
}
