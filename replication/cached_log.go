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

// logs is the log of a node as raft uses it: what was stored last stays in memory
// for the followers and the machine, up to so many bytes, and how long each store
// takes is watched. Raft's own cache counts entries, of which one may be small or
// a transaction of 16 MB.
type cachedLog struct {
	raft.LogStore
	mono func() time.Duration
	// end, unless nil, is what stands in place of an entry that is not in the log.
	snapshotEntry func(index uint64) *raft.Log

	storing *persist.Stopwatch // stores of the log
	storeTimes    latencyHistogram

	mu     sync.RWMutex
	recent map[uint64]*raft.Log
	oldest uint64 // of recent
	next   uint64 // the index after the last of recent

	// stored is the last entry for the machine that was stored since the start, 0 if none,
	// and storedAt a time, by mono, when it was not yet.
	stored   uint64
	storedAt time.Duration
	bytes    int
}

// maxRecentBytes is how much of the log stays in memory.
const maxRecentBytes = 16 << 20

func newCachedLog(store raft.LogStore, mono func() time.Duration, disk *persist.DiskWatch) *cachedLog {
	return &cachedLog{LogStore: store, mono: mono, storing: disk.Stopwatch(), recent: make(map[uint64]*raft.Log)}
}

// IsMonotonic says that indexes follow on each other: before a snapshot replaces the
// log, raft has to empty it.
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

// lastStored is the last entry for the machine that was stored since the start, 0 if none
// was, and a time shortly before that, by mono.
func (l *cachedLog) lastStored() (index uint64, at time.Duration) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.stored, l.storedAt
}

// keep puts an entry into memory, and drops the oldest for it. mu is held.
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

// entryCost is what an entry takes in memory.
func entryCost(e *raft.Log) int { return len(e.Data) + 128 }

// drop empties the memory. mu is held.
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

// votesWatched is a StableStore whose writes are timed. Raft
// v1.7.3 panics where one fails. So failed is told, which is to end the process, and
// raft's goroutine, all that it does being void from then on, ends.
type timedVotes struct {
	*voteStore
	writing *persist.Stopwatch
	failed  func(error)
	started atomic.Bool // raft runs; before, it writes what it has just read, in somebody else's goroutine
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
