package persist

import (
	"sync"
	"sync/atomic"

	"limitsrv/engine"
	"limitsrv/internal/invariants"
	"limitsrv/persist/commit"
)

// A pipeline takes batches through the engine and the log, in one of two orders.
//
//	logFirst:  exec -> waiting -> [build, append, fsync] -> [apply, answer]
//	else:      exec -> [apply, answer] -> pending -> [append]
//
// Only exec and commit differ. The rest has a single form, because a step that an order
// does not need is empty there: without logFirst no request waits and no group is in
// flight, and with it pending is empty except while a group is built.
//
// With logFirst, requests wait while the previous group is synced; then a group is logged
// as a single entry with a single stamp, applied and answered. Writing and applying have a
// goroutine each, so the disk works on a group while the previous group is applied. When
// the disk fails, the group that is being written is answered UNCERTAIN and never applied,
// and waiting requests are rejected.
//
// Otherwise the changes go into an entry in memory, and Commit appends it before any of its
// decisions is answered. No decision waits for an fsync. Commit appends in its own
// goroutine while the log is idle, as that is a copy into the page cache. During a sync or
// a change of segment an append may block as long as the disk does. The writer goroutine
// then appends, and callers of Commit stop waiting when the disk has failed or hangs; their
// decisions are not logged. A sync is the first operation that meets a disk that hangs,
// because there is a request every second. (Having the writer goroutine append always would
// be simpler, but a client with a single request at a time then took 39 us instead of 23,
// because the runtime wakes another thread for it.)
type pipeline struct {
	s        *Store
	logFirst bool
	wake     signal // wakes the writer
	waiters  chan commitWaiter
	donePool sync.Pool
	appended chan appendedGroup

	// Guarded by s.mu.
	waiting        commit.Queue[request]
	builder        commit.Builder[request]
	current        *commit.Group[request] // the group that is being appended
	pending, spare *Entry
	applied        sync.Cond

	executed atomic.Uint64 // batches applied and added to pending; changed under s.mu
	written  atomic.Uint64 // batches of executed that are in the log or given up
}

// A request is a batch and its callback.
type request struct {
	batch *engine.Batch
	done  func(error)
}

// Batch and Answer implement commit.Request.
func (r request) Batch() *engine.Batch { return r.batch }
func (r request) Answer(err error)     { r.done(err) }

// A commitWaiter is released once target batches are written.
type commitWaiter struct {
	target uint64
	done   chan struct{} // capacity 1
}

// An appendedGroup is a group that was appended to the log.
type appendedGroup struct {
	*commit.Group[request]
	index uint64 // of its entry, or of the previous entry if it has no entry
}

// A tail is the next entry of the log.
type tail struct {
	entry    *Entry
	executed uint64 // value for written when entry is appended
}

const (
	// maxGroups bounds the groups that wait to be applied.
	maxGroups = 4
	// No further batch is added to an entry of maxGroupBytes.
	maxGroupBytes = 4 << 20
	// maxCommitWaiters is the capacity of waiters; further callers of Commit block before
	// it.
	maxCommitWaiters = 256
)

func newPipeline(s *Store) *pipeline {
	p := &pipeline{s: s, logFirst: s.o.Policy == Always, pending: new(Entry), spare: new(Entry)}
	p.wake, p.waiters = newSignal(), make(chan commitWaiter, maxCommitWaiters)
	p.appended = make(chan appendedGroup, maxGroups)
	p.donePool.New = func() any { return make(chan struct{}, 1) }
	p.builder = commit.Builder[request]{MaxBytes: maxGroupBytes, Fingerprint: s.engine.Fingerprint, Encode: p.encode}
	if c := s.engine.Commands(); c != nil {
		p.builder.Level = c.Level()
	}
	p.applied.L = &s.mu
	s.wait.Go(p.writeAll)
	s.wait.Go(p.applyAll)
	return p
}

func (p *pipeline) encode(stamp engine.Instant, b *engine.Batch) int {
	p.s.engine.SetMoments(stamp, b)
	p.pending.Append(stamp, b)
	return p.pending.Len()
}

// exec is Store.Exec.
func (p *pipeline) exec(batch *engine.Batch, done func(error)) {
	s := p.s
	if !p.logFirst {
		s.mu.Lock()
		p.decide(batch)
		long := p.pending.Len() > maxGroupBytes
		s.mu.Unlock()
		s.o.Notices.Send()
		if long {
			p.commit()
		}
		done(nil)
		return
	}
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
	p.waiting.Add(request{batch, done})
	s.mu.Unlock()
}

// decide applies a batch and adds its changes to pending. Requires: mu is held.
func (p *pipeline) decide(batch *engine.Batch) {
	s, now := p.s, p.s.now()
	batch.Full, batch.Tight, batch.Level = false, false, p.builder.Level
	if s.bound.Exceeded(s.engine, batch) && !batch.Looks() {
		room := s.bound.Room(s.engine, now, now, batch)
		batch.Full, batch.Tight = room.Full, room.Full
		if len(room.Victims) > 0 {
			victims := &engine.Batch{Ops: room.Victims}
			p.apply(now, victims)
			p.log(now, victims)
		}
	}
	s.engine.SetMoments(now, batch)
	if changed := p.apply(now, batch); changed > 0 {
		p.log(now, batch)
	}
}

// log adds the changes of an applied batch to pending. Requires: mu is held.
func (p *pipeline) log(now engine.Instant, batch *engine.Batch) {
	if p.s.failing {
		return
	}
	if invariants.Enabled && now < p.pending.stamp {
		invariants.Violated("a batch at %d is logged after a batch at %d", now, p.pending.stamp)
	}
	p.pending.AppendChanged(now, batch)
	p.executed.Add(1)
}

// apply applies a batch and returns the number of ops that changed state. Requires: mu is
// held.
func (p *pipeline) apply(stamp engine.Instant, batch *engine.Batch) (changed int64) {
	batch.Notices = p.s.o.Notices
	p.s.engine.Apply(stamp, batch)
	for i := range batch.Decisions {
		if batch.Decisions[i].Changed {
			changed++
		}
	}
	if changed > 0 {
		p.s.changes.Add(changed)
	}
	return changed
}

// commit is Store.Commit.
func (p *pipeline) commit() {
	if p.logFirst {
		p.wake.send()
		return
	}
	c := commitWaiter{target: p.executed.Load()}
	if p.written.Load() >= c.target {
		return
	}
	if !p.s.log.Load().Busy() && p.s.logMu.tryLock() {
		p.write()
		p.s.logMu.unlock()
		return
	}
	failed := p.s.failed()
	c.done = p.donePool.Get().(chan struct{})
	select {
	case p.waiters <- c:
	case <-failed:
		return
	}
	select {
	case <-c.done:
		p.donePool.Put(c.done)
	case <-failed: // done may still be used, so it is not put back
	}
}

// writeAll is the goroutine that appends when its caller must not wait for the disk.
func (p *pipeline) writeAll() {
	defer close(p.appended)
	for {
		var c commitWaiter
		select {
		case <-p.s.stopping.Done():
			return
		case <-p.wake:
		case c = <-p.waiters:
		}
		if c.done == nil || p.written.Load() < c.target {
			p.s.logMu.lock()
			p.write()
			p.s.logMu.unlock()
		}
		if c.done != nil {
			c.done <- struct{}{}
		}
	}
}

// write appends the next group, or the pending decisions, to the log. Requires: logMu is
// held.
func (p *pipeline) write() {
	s := p.s
	s.mu.Lock()
	g := p.nextGroup()
	t := p.takeTail()
	s.mu.Unlock()
	if err := p.append(t); err != nil {
		s.fail(err)
	}
	if g != nil && g.Claim() {
		p.appended <- appendedGroup{g, s.log.Load().Last()}
	}
}

// nextGroup builds a group of waiting requests, encodes it into pending, and returns it;
// nil if no request waits. Requires: logMu and mu are held; mu is released while waiting.
func (p *pipeline) nextGroup() *commit.Group[request] {
	s := p.s
	if p.waiting.Len() == 0 {
		return nil
	}
	if commit.Expects(p.waiting.First().batch) || s.bound.Exceeded(s.engine, p.waiting.First().batch) {
		p.waitApplied() // a group in flight may change watched keys, or evict enough
		if p.waiting.Len() == 0 {
			return nil // the disk has failed since
		}
	}
	stamp := s.o.Clock.Now()
	room := s.bound.Room(s.engine, stamp, stamp, p.waiting.First().batch)
	all := p.waiting.Take()
	g := p.builder.Build(stamp, all, room)
	p.waiting.Return(all[g.Len():], all)
	if p.waiting.Len() > 0 {
		p.wake.send()
	}
	if invariants.Enabled && len(s.inFlight) > 0 && stamp < s.inFlight[len(s.inFlight)-1] {
		invariants.Violated("a group at %d is logged after groups at %d", stamp, s.inFlight)
	}
	s.inFlight = append(s.inFlight, stamp)
	p.current = g
	return g
}

// barrier returns when all groups of the log are applied. The caller must pass the tail to
// append without mu: it holds the decisions that were made before barrier returned.
// Requires: logMu and mu are held; mu is released while waiting.
func (p *pipeline) barrier() tail {
	p.waitApplied()
	return p.takeTail()
}

// takeTail takes the pending decisions. The caller must pass them to append without mu.
// Requires: logMu and mu are held.
func (p *pipeline) takeTail() tail {
	t := tail{p.pending, p.executed.Load()}
	p.pending, p.spare = p.spare, nil
	return t
}

// append appends a tail to the log. Requires: logMu is held since the tail was taken.
func (p *pipeline) append(t tail) (err error) {
	if t.entry.Len() > 0 {
		err = p.s.append(t.entry.Bytes())
	}
	t.entry.Reset()
	p.s.mu.Lock()
	p.spare = t.entry
	if err == nil {
		p.current = nil
	}
	p.s.mu.Unlock()
	p.written.Store(max(p.written.Load(), t.executed))
	if invariants.Enabled && p.written.Load() > p.executed.Load() {
		invariants.Violated("%d batches are written, and %d are executed", p.written.Load(), p.executed.Load())
	}
	return err
}

// applyAll is the goroutine that applies groups.
func (p *pipeline) applyAll() {
	s := p.s
	for g := range p.appended {
		s.mu.Lock()
		if invariants.Enabled && (len(s.inFlight) == 0 || s.inFlight[0] != g.Stamp) {
			invariants.Violated("a group at %d is applied, and the groups in flight are at %d", g.Stamp, s.inFlight)
		}
		s.applying.Begin(g.index)
		for b := range g.Batches {
			p.apply(g.Stamp, b)
		}
		s.applying.End()
		s.inFlight = append(s.inFlight[:0], s.inFlight[1:]...)
		p.applied.Broadcast()
		s.mu.Unlock()
		s.o.Notices.Send()
		g.Answer(nil)
		s.mu.Lock()
		p.builder.Recycle(g.Group)
		s.mu.Unlock()
	}
}

// waitApplied blocks until no group is in flight. Requires: mu is held; it is released
// while waiting.
func (p *pipeline) waitApplied() {
	for len(p.s.inFlight) > 0 {
		p.applied.Wait()
	}
}

// fail gives up the pending decisions, and answers the group that is being written and the
// waiting requests. If the disk is full, the group is certainly not in the log, so its
// answer is the failure. Requires: mu is held. The caller must call the returned function
// without mu.
func (p *pipeline) fail(f *Failure) func() {
	var answer error = ErrUncertain
	if f.full() {
		answer = f
	}
	p.pending.Reset()
	p.written.Store(p.executed.Load())
	waiting, current := p.waiting.Take(), p.current
	p.current = nil
	uncertain := current != nil && current.Abandon()
	if uncertain {
		p.s.inFlight = p.s.inFlight[:len(p.s.inFlight)-1] // current is the newest
	}
	p.applied.Broadcast()
	return func() {
		if uncertain {
			current.Answer(answer)
		}
		for _, r := range waiting {
			r.done(f)
		}
	}
}
