package persist

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"limitsrv/engine"
)

// logAhead decides only what is on disk: batches gather in a group while the group
// before is being synced, the group goes into the log as one entry at one stamp,
// and then it is carried out and answered.
//
//	exec -> gathering -> [write: append, fsync] -> [apply: decide, answer]
//
// The two steps are goroutines of their own, so that the disk works on a group
// while the one before is carried out. When the disk has failed, what is on its
// way is answered UNCERTAIN and never carried out, and the rest is refused.
type logAhead struct {
	s       *Store
	entry   Entry
	kicked  chan struct{}
	flights chan *flight

	// Guarded by s.mu.
	gathering *flight
	spare     []*flight
	dropped   [][]byte // keys that a replay would have, as it has no bound: evicted ones, and ones refused with NoMemory
	current   *flight  // which is being written
	joined    engine.Batch
	landed    sync.Cond
}

// A flight is a group of batches on its way.
type flight struct {
	batches []*engine.Batch
	dones   []func(error)
	stamp   engine.Instant
	state   atomic.Int32
}

// The states of a flight. Whoever changes it from flying answers it.
const (
	flying int32 = iota
	arrived
	lost
)

// maxFlights is how many groups may wait to be carried out.
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
		f := s.failure.Load() // under mu, as it may be mended at any time
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

// writeAll is the goroutine that writes group after group.
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

// depart takes a group off what has gathered, nil if there is none.
func (l *logAhead) depart() *flight {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	f := l.gathering
	if len(f.batches) == 0 {
		return nil
	}
	alone := expects(f.batches[0])
	if alone || len(l.dropped) > 0 { // what is on its way may bring a dropped key back
		l.land()
	}
	if l.gathering != f {
		return nil // the disk has failed meanwhile
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

// maxGroupBytes is how long an entry gets before another is begun.
const maxGroupBytes = 4 << 20

// board writes the batches of a group into the entry and returns how many: all, but
// for those that make the entry too long, and those from a transaction on that
// depends on what its keys were: that goes alone, as all before it has to be carried
// out to know.
func (l *logAhead) board(f *flight) int {
	for i, b := range f.batches {
		if i > 0 && (l.entry.Len() > maxGroupBytes || expects(b)) {
			return i
		}
		l.entry.Append(f.stamp, b)
	}
	return len(f.batches)
}

// withoutExpects is a batch whose Expects hold, for the log.
func withoutExpects(b *engine.Batch) *engine.Batch {
	return &engine.Batch{Ops: slices.DeleteFunc(slices.Clone(b.Ops), isExpect), Atomic: b.Atomic}
}

// leaveBehind has the batches of a group from n on gather again.
func (l *logAhead) leaveBehind(f *flight, n int) {
	g := l.gathering
	g.batches = append(g.batches, f.batches[n:]...)
	g.dones = append(g.dones, f.dones[n:]...)
	f.batches, f.dones = f.batches[:n], f.dones[:n]
	l.commit()
}

// expects says whether a batch depends on what its keys were. Only an Atomic one may.
func expects(b *engine.Batch) bool {
	return b.Atomic && slices.ContainsFunc(b.Ops, isExpect)
}

func isExpect(op engine.Op) bool { return op.Kind == engine.Expect }

// holds says whether what a batch expects is so; then it is logged without. All
// that is in the log has been carried out.
func (l *logAhead) holds(now engine.Instant, b *engine.Batch) bool {
	for i := range b.Ops {
		op := &b.Ops[i]
		if op.Kind == engine.Expect && l.s.engine.Fingerprint(now, op.Key) != op.N {
			return false
		}
	}
	return true
}

// forgetDropped writes down which keys were dropped, but for those that have come
// back since, or were there before: a replay then decides no less strictly. All
// that is in the log has been carried out, if there are any.
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

// write puts a group on disk, and hands it on.
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

// applyAll is the goroutine that carries out group after group.
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

// joinable is how many of the batches, from the first on, may be carried out as one.
func joinable(batches []*engine.Batch) (n int) {
	for n < len(batches) && !batches[n].Atomic {
		n++
	}
	return n
}

// apply carries out batches, several as one: the engine is faster with more ops for
// each shard. It took a permit of a group of fifty batches of 16 from 0.7 to 0.54 us
// (BenchmarkGroup). mu is held.
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
	clear(all.Ops) // they point to what belongs to others
}

// noteDropped notes the keys that a replay of a batch would have and the engine
// has not. mu is held.
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

// land waits until nothing is on its way. mu is held, but not while it waits.
func (l *logAhead) land() {
	for len(l.s.flights) > 0 {
		l.landed.Wait()
	}
}

// fail answers what is on its way and what has gathered. A full disk has certainly
// not taken what is on its way.
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
		l.s.flights = l.s.flights[:len(l.s.flights)-1] // the last one that departed
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
