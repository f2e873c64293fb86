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
	kicked  chan struct{}
	flights chan *flight

	// Guarded by s.mu.
	gathering *flight
	spare     []*flight
	dropped   [][]byte // keys that a replay, having no memory bound, would keep: evicted ones, and ones denied with NoMemory
	current   *flight  // the group that is being written
	joined    engine.Batch
	landed    sync.Cond
}

// A group is a list of batches that are logged as one entry.
type flight struct {
	batches []*engine.Batch
	dones   []func(error)
	stamp   engine.Instant
	state   atomic.Int32
}

// States of a group. The goroutine that moves it from inFlight answers its batches.
const (
	flying int32 = iota
	arrived
	lost
)

// maxGroups bounds the groups that wait to be applied.
const maxFlights = 4

func newLogAhead(s *Store) *logAhead {
	l := &logAhead{s: s, kicked: make(chan struct{}, 1), flights: make(chan *flight, maxFlights), gathering: new(flight)}
	l.landed.L = &s.mu
	s.wait.Go(l.writeAll)
	s.wait.Go(l.applyAll)
	return l
}

func (l *logAhead) exec(batch *engine.Batch, done func(error)) {
	s := l.s
	if batch.Looks() {
		s.look(batch, done)
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
	case l.kicked <- struct{}{}:
	default:
	}
}

// writeAll is the goroutine that writes groups.
func (l *logAhead) writeAll() {
	defer close(l.flights)
	for {
		select {
		case <-l.s.stopping.Done():
			return
		case <-l.kicked:
		}
		l.s.disk.lock()
		if f := l.depart(); f != nil {
			l.write(f)
		}
		l.s.disk.unlock()
	}
}

// nextGroup takes the gathered group, encodes it into l.entry, and returns it; nil if
// there are no batches. Requires: logMu is held.
func (l *logAhead) depart() *flight {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	f := l.gathering
	if len(f.batches) == 0 {
		return nil
	}
	alone := expects(f.batches[0])
	if alone || len(l.dropped) > 0 { // a group in flight may re-create a dropped key
		l.land()
	}
	if l.gathering != f {
		return nil // the disk has failed since
	}
	f.stamp = s.o.Clock.Now()
	l.entry.Reset()
	l.forgetDropped(f.stamp)
	boarded := 1
	switch {
	case !alone:
		boarded = l.board(f)
	case l.holds(f.stamp, f.batches[0]):
		l.entry.Append(f.stamp, withoutExpects(f.batches[0]))
	}
	l.gathering = l.fresh()
	if boarded < len(f.batches) {
		l.leaveBehind(f, boarded)
	}
	s.flights = append(s.flights, f.stamp)
	l.current = f
	return f
}

// maxGroupBytes is the size of an entry after which no further batch is added.
const maxGroupBytes = 4 << 20

// fill encodes batches of the group into the entry and returns their number. It stops at
// maxGroupBytes, and before a transaction with an Expect: that must be a group of its
// own, because all earlier batches have to be applied before its Expects can be checked.
func (l *logAhead) board(f *flight) int {
	for i, b := range f.batches {
		if i > 0 && (l.entry.Len() > maxGroupBytes || expects(b)) {
			return i
		}
		l.entry.Append(f.stamp, b)
	}
	return len(f.batches)
}

// withoutExpects returns a batch without its Expects, which hold, for the log.
func withoutExpects(b *engine.Batch) *engine.Batch {
	return &engine.Batch{Ops: slices.DeleteFunc(slices.Clone(b.Ops), isExpect), Atomic: b.Atomic}
}

// requeue moves the batches of the group from n on back to gathering.
func (l *logAhead) leaveBehind(f *flight, n int) {
	g := l.gathering
	g.batches = append(g.batches, f.batches[n:]...)
	g.dones = append(g.dones, f.dones[n:]...)
	f.batches, f.dones = f.batches[:n], f.dones[:n]
	l.commit()
}

// expects reports whether a batch has an Expect. Only an Atomic batch may.
func expects(b *engine.Batch) bool {
	return b.Atomic && slices.ContainsFunc(b.Ops, isExpect)
}

func isExpect(op engine.Op) bool { return op.Kind == engine.Expect }

// expectationsHold reports whether all Expects of a batch hold; the batch is then logged
// without them. Requires: all entries of the log are applied.
func (l *logAhead) holds(now engine.Instant, b *engine.Batch) bool {
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

func (l *logAhead) fresh() *flight {
	n := len(l.spare)
	if n == 0 {
		return new(flight)
	}
	f := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return f
}

// write appends the entry of a group to the log and passes the group to applyAll.
func (l *logAhead) write(f *flight) {
	s := l.s
	if l.entry.Len() > 0 {
		if err := s.append(l.entry.Bytes()); err != nil {
			s.fail(err)
		}
	}
	s.mu.Lock()
	if l.current == f {
		l.current = nil
	}
	s.mu.Unlock()
	if f.state.CompareAndSwap(flying, arrived) {
		l.flights <- f
	}
}

// applyAll is the goroutine that applies groups.
func (l *logAhead) applyAll() {
	for f := range l.flights {
		s := l.s
		s.mu.Lock()
		for rest := f.batches; len(rest) > 0; {
			n := max(1, joinable(rest))
			l.apply(f.stamp, rest[:n])
			rest = rest[n:]
		}
		s.flights = append(s.flights[:0], s.flights[1:]...)
		l.landed.Broadcast()
		s.mu.Unlock()
		for _, done := range f.dones {
			done(nil)
		}
		l.putBack(f)
	}
}

// mergeable returns how many batches, from the first on, may be applied as one.
func joinable(batches []*engine.Batch) (n int) {
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
		all = &l.joined
		all.Reset()
		for _, b := range batches {
			all.Ops = append(all.Ops, b.Ops...)
		}
	}
	l.s.engine.Apply(now, all)
	l.s.counts.changes.Add(changedOps(all))
	l.noteDropped(all)
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
func (l *logAhead) noteDropped(b *engine.Batch) {
	for i := range b.Evicted {
		l.dropped = append(l.dropped, bytes.Clone(b.Evicted[i].Key))
	}
	for i := range b.Decisions {
		if b.Decisions[i].Status == engine.NoMemory {
			l.dropped = append(l.dropped, bytes.Clone(b.Ops[i].Key))
		}
	}
}

func (l *logAhead) putBack(f *flight) {
	clear(f.batches)
	clear(f.dones)
	f.batches, f.dones = f.batches[:0], f.dones[:0]
	f.state.Store(flying)
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if len(l.spare) < maxFlights {
		l.spare = append(l.spare, f)
	}
}

func (l *logAhead) cut() (finish func() error) {
	l.land()
	return func() error { return nil }
}

// waitApplied blocks until no group is in flight. Requires: mu is held; it is released
// while waiting.
func (l *logAhead) land() {
	for len(l.s.flights) > 0 {
		l.landed.Wait()
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
	l.gathering = l.fresh()
	l.current = nil
	uncertain := current != nil && current.state.CompareAndSwap(flying, lost)
	if uncertain {
		l.s.flights = l.s.flights[:len(l.s.flights)-1] // current is the newest
	}
	l.landed.Broadcast()
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
