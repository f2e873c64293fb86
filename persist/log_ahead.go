package persist

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"limitsrv/engine"
)

// logAhead applies a batch only when it is on disk. Batches gather in a group while the
// previous group is synced; the group is logged as one entry with one stamp, then applied
// and answered.
//
//	exec -> gathering -> [writeAll: append, fsync] -> [applyAll: decide, answer]
//
// Writing and applying have a goroutine each, so the disk works on one group while the
// previous one is applied. When the disk fails, the group that is being written is
// answered UNCERTAIN and never applied, and gathered batches are rejected.
type logAhead struct {
	s       *Store
	entry   Entry
	wake    chan struct{}
	written chan *group

	// Guarded by s.mu.
	gathering *group
	free      []*group
	// dropped are keys that a replay, having no memory bound, would keep: evicted ones,
	// and ones denied with NoMemory.
	dropped [][]byte
	current *group // the group that is being written
	merged  engine.Batch
	applied sync.Cond
}

// A group is a list of batches that are logged as one entry.
type group struct {
	batches []*engine.Batch
	dones   []func(error)
	stamp   engine.Instant
	state   atomic.Int32
}

// States of a group. The goroutine that moves it from groupInFlight answers its batches.
const (
	groupInFlight int32 = iota
	groupWritten
	groupFailed
)

// maxGroups bounds the groups that wait to be applied.
const maxGroups = 4

func newLogAhead(s *Store) *logAhead {
	l := &logAhead{s: s, wake: make(chan struct{}, 1), written: make(chan *group, maxGroups), gathering: new(group)}
	l.applied.L = &s.mu
	s.wait.Go(l.writeAll)
	s.wait.Go(l.applyAll)
	return l
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
	l.gathering.batches = append(l.gathering.batches, batch)
	l.gathering.dones = append(l.gathering.dones, done)
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

// nextGroup takes the gathered group, encodes it into l.entry, and returns it; nil if
// there are no batches. Requires: logMu is held.
func (l *logAhead) nextGroup() *group {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	g := l.gathering
	if len(g.batches) == 0 {
		return nil
	}
	alone := expects(g.batches[0])
	if alone || len(l.dropped) > 0 { // a group in flight may re-create a dropped key
		l.waitApplied()
	}
	if l.gathering != g {
		return nil // the disk has failed since
	}
	g.stamp = s.o.Clock.Now()
	l.entry.Reset()
	l.forgetDropped(g.stamp)
	filled := 1
	switch {
	case !alone:
		filled = l.fill(g)
	case l.expectationsHold(g.stamp, g.batches[0]):
		l.entry.Append(g.stamp, withoutExpects(g.batches[0]))
	}
	l.gathering = l.newGroup()
	if filled < len(g.batches) {
		l.requeue(g, filled)
	}
	s.inFlight = append(s.inFlight, g.stamp)
	l.current = g
	return g
}

// maxGroupBytes is the size of an entry after which no further batch is added.
const maxGroupBytes = 4 << 20

// fill encodes batches of the group into the entry and returns their number. It stops at
// maxGroupBytes, and before a transaction with an Expect: that must be a group of its
// own, because all earlier batches have to be applied before its Expects can be checked.
func (l *logAhead) fill(g *group) int {
	for i, b := range g.batches {
		if i > 0 && (l.entry.Len() > maxGroupBytes || expects(b)) {
			return i
		}
		l.entry.Append(g.stamp, b)
	}
	return len(g.batches)
}

// withoutExpects returns a batch without its Expects, which hold, for the log.
func withoutExpects(b *engine.Batch) *engine.Batch {
	return &engine.Batch{Ops: slices.DeleteFunc(slices.Clone(b.Ops), isExpect), Atomic: b.Atomic}
}

// requeue moves the batches of the group from n on back to gathering.
func (l *logAhead) requeue(g *group, n int) {
	next := l.gathering
	next.batches = append(next.batches, g.batches[n:]...)
	next.dones = append(next.dones, g.dones[n:]...)
	g.batches, g.dones = g.batches[:n], g.dones[:n]
	l.commit()
}

// expects reports whether a batch has an Expect. Only an Atomic batch may.
func expects(b *engine.Batch) bool {
	return b.Atomic && slices.ContainsFunc(b.Ops, isExpect)
}

func isExpect(op engine.Op) bool { return op.Kind == engine.Expect }

// expectationsHold reports whether all Expects of a batch hold; the batch is then logged
// without them. Requires: all entries of the log are applied.
func (l *logAhead) expectationsHold(now engine.Instant, b *engine.Batch) bool {
	for i := range b.Ops {
		op := &b.Ops[i]
		if op.Kind == engine.Expect && l.s.engine.Fingerprint(now, op.Key) != op.N {
			return false
		}
	}
	return true
}

// forgetDropped logs a Forget for each dropped key that does not exist now, because
// replay runs without a memory bound and would keep it. Requires: if there are any, all
// entries of the log are applied.
func (l *logAhead) forgetDropped(stamp engine.Instant) {
	for _, key := range l.dropped {
		if l.s.engine.Fingerprint(stamp, key) == 0 {
			l.entry.Forget(stamp, key)
		}
	}
	clear(l.dropped)
	l.dropped = l.dropped[:0]
}

func (l *logAhead) newGroup() *group {
	n := len(l.free)
	if n == 0 {
		return new(group)
	}
	g := l.free[n-1]
	l.free = l.free[:n-1]
	return g
}

// write appends the entry of a group to the log and passes the group to applyAll.
func (l *logAhead) write(g *group) {
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
	if g.state.CompareAndSwap(groupInFlight, groupWritten) {
		l.written <- g
	}
}

// applyAll is the goroutine that applies groups.
func (l *logAhead) applyAll() {
	for g := range l.written {
		s := l.s
		s.mu.Lock()
		for rest := g.batches; len(rest) > 0; {
			n := max(1, mergeable(rest))
			l.apply(g.stamp, rest[:n])
			rest = rest[n:]
		}
		s.inFlight = append(s.inFlight[:0], s.inFlight[1:]...)
		l.applied.Broadcast()
		s.mu.Unlock()
		for _, done := range g.dones {
			done(nil)
		}
		l.recycle(g)
	}
}

// mergeable returns how many batches, from the first on, may be applied as one.
func mergeable(batches []*engine.Batch) (n int) {
	for n < len(batches) && !batches[n].Atomic {
		n++
	}
	return n
}

// apply applies batches, several as one, because the engine is faster with more ops per
// shard: a permit in a group of fifty batches of 16 took 0.54 us instead of 0.7
// (BenchmarkGroup). Requires: mu is held.
func (l *logAhead) apply(now engine.Instant, batches []*engine.Batch) {
	all := batches[0]
	if len(batches) > 1 {
		all = &l.merged
		all.Reset()
		for _, b := range batches {
			all.Ops = append(all.Ops, b.Ops...)
		}
	}
	l.s.engine.Apply(now, all)
	l.s.counts.changes.Add(changedOps(all))
	l.addDropped(all)
	if len(batches) == 1 {
		return
	}
	rest := all.Decisions
	for _, b := range batches {
		b.Decisions = append(b.Decisions[:0], rest[:len(b.Ops)]...)
		rest = rest[len(b.Ops):]
	}
	clear(all.Ops) // do not retain keys of the batches
}

// addDropped records the keys of an applied batch that its replay would keep and the
// engine has not. Requires: mu is held.
func (l *logAhead) addDropped(b *engine.Batch) {
	for i := range b.Evicted {
		l.dropped = append(l.dropped, bytes.Clone(b.Evicted[i].Key))
	}
	for i := range b.Decisions {
		if b.Decisions[i].Status == engine.NoMemory {
			l.dropped = append(l.dropped, bytes.Clone(b.Ops[i].Key))
		}
	}
}

func (l *logAhead) recycle(g *group) {
	clear(g.batches)
	clear(g.dones)
	g.batches, g.dones = g.batches[:0], g.dones[:0]
	g.state.Store(groupInFlight)
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if len(l.free) < maxGroups {
		l.free = append(l.free, g)
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

// fail answers the group that is being written and the gathered batches. If the disk is
// full, the group is certainly not in the log, so its answer is the failure.
func (l *logAhead) fail(f *Failure) func() {
	var answer error = ErrUncertain
	if f.full() {
		answer = f
	}
	waiting, current := l.gathering, l.current
	l.gathering = l.newGroup()
	l.current = nil
	uncertain := current != nil && current.state.CompareAndSwap(groupInFlight, groupFailed)
	if uncertain {
		l.s.inFlight = l.s.inFlight[:len(l.s.inFlight)-1] // current is the newest
	}
	l.applied.Broadcast()
	return func() {
		if uncertain {
			for _, done := range current.dones {
				done(answer)
			}
		}
		for _, done := range waiting.dones {
			done(f)
		}
	}
}
