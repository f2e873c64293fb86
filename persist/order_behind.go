package persist

import (
	"sync"
	"sync/atomic"

	"limitsrv/engine"
)

// logBehind decides first: what changed state goes into an entry in memory, which
// Commit has written before anything of it is answered. No decision waits for an
// fsync.
//
// Commit writes by itself while the log is at rest: that is a copy into the
// system's memory. While a sync is under way, or the log's file is changed, the
// disk has its hands on it, and a write may take as long as they do; then a
// goroutine writes, and those who wait for it in Commit go on when the disk has
// failed or hangs, and decide without a log. A disk that hangs is met by a sync
// first, as there is one every second. (Always having the goroutine write would be
// simpler. It took a client that asks one request at a time from 23 to 39 us, as
// the runtime wakes another thread for it.)
type logBehind struct {
	s *Store

	// Guarded by s.mu.
	pending, spare *Entry

	executed atomic.Uint64 // batches that went into pending; changed under s.mu
	written  atomic.Uint64 // of these, those that are in the log or given up
	work     chan commitment
	dones    sync.Pool
}

// A commitment is somebody who waits until so many batches are written.
type commitment struct {
	target uint64
	done   chan struct{} // has room for one
}

// maxCommitments is how many may wait to be seen by the writer; more wait for that.
const maxCommitments = 256

func newLogBehind(s *Store) *logBehind {
	l := &logBehind{s: s, pending: new(Entry), spare: new(Entry), work: make(chan commitment, maxCommitments)}
	l.dones.New = func() any { return make(chan struct{}, 1) }
	s.wait.Go(l.writeAll)
	return l
}

func (l *logBehind) exec(batch *engine.Batch, done func(error)) {
	s := l.s
	s.mu.Lock()
	now := s.now()
	s.engine.Apply(now, batch)
	if changed := changedOps(batch); changed > 0 {
		l.note(now, batch, changed)
	}
	s.mu.Unlock()
	done(nil)
}

// note has an applied batch logged. mu is held.
func (l *logBehind) note(now engine.Instant, batch *engine.Batch, changed int64) {
	l.s.counts.changes.Add(changed)
	if l.s.failing {
		l.s.counts.unlogged.Add(changed)
		return
	}
	l.pending.AppendChanged(now, batch)
	l.executed.Add(1)
}

func (l *logBehind) commit() {
	c := commitment{target: l.executed.Load()}
	if l.written.Load() >= c.target {
		return
	}
	if !l.s.log.Load().Busy() && l.s.disk.tryLock() {
		l.write()
		l.s.disk.unlock()
		return
	}
	failed := l.s.failed()
	c.done = l.dones.Get().(chan struct{})
	select {
	case l.work <- c:
	case <-failed:
		return
	}
	select {
	case <-c.done:
		l.dones.Put(c.done)
	case <-failed: // done may still be used
	}
}

// writeAll is the goroutine that writes where a write might take long.
func (l *logBehind) writeAll() {
	for {
		select {
		case <-l.s.stopping.Done():
			return
		case c := <-l.work:
			if l.written.Load() < c.target {
				l.s.disk.lock()
				l.write()
				l.s.disk.unlock()
			}
			c.done <- struct{}{}
		}
	}
}

// write appends what is pending to the log. disk is held.
func (l *logBehind) write() {
	l.s.mu.Lock()
	finish := l.cut()
	l.s.mu.Unlock()
	if err := finish(); err != nil {
		l.s.fail(err)
	}
}

func (l *logBehind) cut() (finish func() error) {
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

// changedOps is how many ops of an applied batch changed something.
func changedOps(batch *engine.Batch) (n int64) {
	for i := range batch.Decisions {
		if batch.Decisions[i].Changed {
			n++
		}
	}
	return n
}
