package persist

import (
	"sync"
	"sync/atomic"

	"limitsrv/engine"
	"limitsrv/persist/commit"
)

// logBehind decides first: changes go into an entry in memory, and Commit writes the
// entry before any of its decisions is answered. No decision waits for an fsync.
//
// Commit writes the entry in its own goroutine while the log is idle, as that is a copy
// into the page cache. During a sync or a change of segment a write may block as long as
// the disk does. A writer goroutine then appends, and callers of Commit stop waiting when
// the disk has failed or hangs; their decisions are not logged. A sync is the first
// operation that meets a disk that hangs, because there is one every second. (Having the
// writer goroutine append always would be simpler, but a client with one request at a
// time then took 39 us instead of 23, because the runtime wakes another thread for it.)
type logBehind struct {
	s *Store

	// Guarded by s.mu.
	pending, spare *Entry

	executed atomic.Uint64 // batches added to pending; changed under s.mu
	written  atomic.Uint64 // batches of executed that are in the log or given up
	waiters  chan commitWaiter
	donePool sync.Pool
}

// A commitWaiter is released once target batches are written.
type commitWaiter struct {
	target uint64        // capacity 1
	done   chan struct{} // has room for one
}

// maxCommitWaiters is the capacity of waiters; further callers of Commit block before it.
const maxCommitWaiters = 256

func newLogBehind(s *Store) *logBehind {
	l := &logBehind{s: s, pending: new(Entry), spare: new(Entry), waiters: make(chan commitWaiter, maxCommitWaiters)}
	l.donePool.New = func() any { return make(chan struct{}, 1) }
	s.wait.Go(l.writeAll)
	return l
}

func (l *logBehind) exec(batch *engine.Batch, done func(error)) {
	s := l.s
	s.mu.Lock()
	now := s.now()
	l.makeRoom(now, batch)
	l.apply(now, batch)
	long := l.pending.Len() > maxGroupBytes
	s.mu.Unlock()
	if long {
		l.commit()
	}
	done(nil)
}

// makeRoom lets the memory bound act before a batch. Requires: mu is held.
func (l *logBehind) makeRoom(now engine.Instant, batch *engine.Batch) {
	s := l.s
	batch.Full = false
	if !s.bound.Exceeded(s.engine) || batch.Looks() {
		return
	}
	room := s.bound.Room(s.engine, now, now)
	batch.Full = room.Full
	if len(room.Victims) > 0 {
		s.engine.CountEvicted(l.apply(now, commit.Forgetting(room.Victims)))
	}
}

// apply applies a batch, adds its changes to pending, and returns their number. Requires:
// mu is held.
func (l *logBehind) apply(now engine.Instant, batch *engine.Batch) (changed int64) {
	l.s.engine.Apply(now, batch)
	if changed = changedOps(batch); changed > 0 {
		l.queue(now, batch, changed)
	}
	return changed
}

// queue adds an applied batch to pending. Requires: mu is held.
func (l *logBehind) queue(now engine.Instant, batch *engine.Batch, changed int64) {
	l.s.counts.changes.Add(changed)
	if l.s.failing {
		l.s.counts.unlogged.Add(changed)
		return
	}
	l.pending.AppendChanged(now, batch)
	l.executed.Add(1)
}

func (l *logBehind) commit() {
	c := commitWaiter{target: l.executed.Load()}
	if l.written.Load() >= c.target {
		return
	}
	if !l.s.log.Load().Busy() && l.s.logMu.tryLock() {
		l.write()
		l.s.logMu.unlock()
		return
	}
	failed := l.s.failed()
	c.done = l.donePool.Get().(chan struct{})
	select {
	case l.waiters <- c:
	case <-failed:
		return
	}
	select {
	case <-c.done:
		l.donePool.Put(c.done)
	case <-failed: // done may still be used
	} // done may still be used, so it is not put back
}

// writeAll is the goroutine that appends when an append may block.
func (l *logBehind) writeAll() {
	for {
		select {
		case <-l.s.stopping.Done():
			return
		case c := <-l.waiters:
			if l.written.Load() < c.target {
				l.s.logMu.lock()
				l.write()
				l.s.logMu.unlock()
			}
			c.done <- struct{}{}
		}
	}
}

// write appends pending to the log. Requires: logMu is held.
func (l *logBehind) write() {
	l.s.mu.Lock()
	finish := l.barrier()
	l.s.mu.Unlock()
	if err := finish(); err != nil {
		l.s.fail(err)
	}
}

func (l *logBehind) barrier() (finish func() error) {
	entry, executed := l.pending, l.executed.Load()
	l.pending, l.spare = l.spare, nil
	return func() (err error) {
		if entry.Len() > 0 {
			err = l.s.append(entry.Bytes())
		}
		entry.Reset()
		l.s.mu.Lock()
		l.spare = entry
		l.s.mu.Unlock()
		l.written.Store(max(l.written.Load(), executed))
		return err
	}
}

func (l *logBehind) fail(*Failure) func() {
	l.pending.Reset()
	l.written.Store(l.executed.Load())
	return func() {}
}

// changedOps returns the number of ops of an applied batch that changed state.
func changedOps(batch *engine.Batch) (n int64) {
	for i := range batch.Decisions {
		if batch.Decisions[i].Changed {
			n++
		}
	}
	return n
}
