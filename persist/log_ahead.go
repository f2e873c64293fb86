package persist

import (
	"sync"

	"limitsrv/engine"
	"limitsrv/persist/commit"
)

// logAhead applies a batch only when it is on disk. Batches wait while the previous group
// is synced; then a group is logged as one entry with one stamp, applied and answered.
//
//	exec -> waiting -> [writeAll: build, append, fsync] -> [applyAll: decide, answer]
//
// Writing and applying have a goroutine each, so the disk works on one group while the
// previous one is applied. When the disk fails, the group that is being written is
// answered UNCERTAIN and never applied, and waiting batches are rejected.
type logAhead struct {
	s       *Store
	entry   Entry // of the group that is being written
	wake    chan struct{}
	written chan *commit.Group[request]

	// Guarded by s.mu.
	waiting commit.Queue[request]
	builder commit.Builder[request]
	current *commit.Group[request] // the group that is being written
	applied sync.Cond
}

// A request is a batch and its callback.
type request struct {
	batch *engine.Batch
	done  func(error)
}

// Batch and Answer implement commit.Request.
func (r request) Batch() *engine.Batch { return r.batch }
func (r request) Answer(err error)     { r.done(err) }

const (
	// maxGroups bounds the groups that wait to be applied.
	maxGroups = 4
	// maxGroupBytes is the size of an entry after which no further batch is added.
	maxGroupBytes = 4 << 20
)

func newLogAhead(s *Store) *logAhead {
	l := &logAhead{s: s, wake: make(chan struct{}, 1), written: make(chan *commit.Group[request], maxGroups)}
	l.builder = commit.Builder[request]{MaxBytes: maxGroupBytes, Fingerprint: s.engine.Fingerprint, Encode: l.encode}
	l.applied.L = &s.mu
	s.wait.Go(l.writeAll)
	s.wait.Go(l.applyAll)
	return l
}

func (l *logAhead) encode(stamp engine.Instant, b *engine.Batch) int {
	l.entry.Append(stamp, b)
	return l.entry.Len()
}

func (l *logAhead) exec(batch *engine.Batch, done func(error)) {
	s := l.s
	if batch.Looks() {
		s.applyReadOnly(batch, done)
		return
	}
	s.mu.Lock()
	if s.failing {
		f := s.failure.Load() // under mu, because it may be cleared at any time
		s.mu.Unlock()
		done(f)
		return
	}
	l.waiting.Add(request{batch, done})
	s.mu.Unlock()
}

func (l *logAhead) commit() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// writeAll is the goroutine that writes groups.
func (l *logAhead) writeAll() {
	defer close(l.written)
	for {
		select {
		case <-l.s.stopping.Done():
			return
		case <-l.wake:
		}
		l.s.logMu.lock()
		if f := l.nextGroup(); f != nil {
			l.write(f)
		}
		l.s.logMu.unlock()
	}
}

// nextGroup builds a group of waiting batches, encodes it into l.entry, and returns it;
// nil if no batch waits. Requires: logMu is held.
func (l *logAhead) nextGroup() *commit.Group[request] {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.waiting.Len() == 0 {
		return nil
	}
	if commit.Expects(l.waiting.First().batch) || s.bound.Exceeded(s.engine) {
		l.waitApplied() // a group in flight may change watched keys, or evict enough
		if l.waiting.Len() == 0 {
			return nil // the disk has failed since
		}
	}
	stamp := s.o.Clock.Now()
	room := s.bound.Room(s.engine, stamp, stamp)
	l.entry.Reset()
	all := l.waiting.Take()
	g := l.builder.Build(stamp, all, room)
	l.waiting.Return(all[g.Len():], all)
	if l.waiting.Len() > 0 {
		l.commit()
	}
	s.inFlight = append(s.inFlight, stamp)
	l.current = g
	return g
}

// write appends the entry of a group to the log and passes the group to applyAll.
func (l *logAhead) write(g *commit.Group[request]) {
	s := l.s
	if l.entry.Len() > 0 {
		if err := s.append(l.entry.Bytes()); err != nil {
			s.fail(err)
		}
	}
	s.mu.Lock()
	if l.current == g {
		l.current = nil
	}
	s.mu.Unlock()
	if g.Claim() {
		l.written <- g
	}
}

// applyAll is the goroutine that applies groups.
func (l *logAhead) applyAll() {
	for g := range l.written {
		s := l.s
		s.mu.Lock()
		for b := range g.Batches {
			s.engine.Apply(g.Stamp, b)
			s.counts.changes.Add(changedOps(b))
		}
		s.engine.CountEvicted(g.Evicted())
		s.inFlight = append(s.inFlight[:0], s.inFlight[1:]...)
		l.applied.Broadcast()
		s.mu.Unlock()
		g.Answer(nil)
		s.mu.Lock()
		l.builder.Recycle(g)
		s.mu.Unlock()
	}
}

func (l *logAhead) barrier() (finish func() error) {
	l.waitApplied()
	return func() error { return nil }
}

// waitApplied blocks until no group is in flight. Requires: mu is held; it is released
// while waiting.
func (l *logAhead) waitApplied() {
	for len(l.s.inFlight) > 0 {
		l.applied.Wait()
	}
}

// fail answers the group that is being written and the waiting batches. If the disk is
// full, the group is certainly not in the log, so its answer is the failure.
func (l *logAhead) fail(f *Failure) func() {
	var answer error = ErrUncertain
	if f.full() {
		answer = f
	}
	waiting, current := l.waiting.Take(), l.current
	l.current = nil
	uncertain := current != nil && current.Abandon()
	if uncertain {
		l.s.inFlight = l.s.inFlight[:len(l.s.inFlight)-1] // current is the newest
	}
	l.applied.Broadcast()
	return func() {
		if uncertain {
			current.Answer(answer)
		}
		for _, r := range waiting {
			r.done(f)
		}
	}
}
