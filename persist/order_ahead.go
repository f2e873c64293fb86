package persist

import (
	"bytes"
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
	evicted   [][]byte // keys that were, since the last entry
	current   *flight  // which is being written
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
	if looks(batch) {
		s.look(batch, done)
		return
	}
	s.mu.Lock()
	if s.failing {
		s.mu.Unlock()
		s.counts.refused.Add(1)
		done(s.failure.Load())
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

// depart takes the group that has gathered, nil if there is none.
func (l *logAhead) depart() *flight {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	f := l.gathering
	if len(f.batches) == 0 {
		return nil
	}
	l.gathering = l.fresh()
	f.stamp = s.o.Clock.Now()
	s.flights = append(s.flights, f.stamp)
	l.current = f
	l.entry.Reset()
	l.forgetEvicted(f.stamp)
	for _, b := range f.batches {
		l.entry.Append(f.stamp, b)
	}
	return f
}

// forgetEvicted writes down which keys were evicted, but for those that have come
// back since: a replay then decides no less strictly.
func (l *logAhead) forgetEvicted(stamp engine.Instant) {
	for _, key := range l.evicted {
		if l.s.engine.Fingerprint(stamp, key) == 0 {
			l.entry.Forget(stamp, key)
		}
	}
	clear(l.evicted)
	l.evicted = l.evicted[:0]
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
	if err := s.append(l.entry.Bytes()); err != nil {
		s.fail(err)
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
		for _, b := range f.batches {
			s.engine.Apply(f.stamp, b)
			s.counts.changes.Add(changedOps(b))
			for _, v := range b.Evicted {
				l.evicted = append(l.evicted, bytes.Clone(v.Key))
			}
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
	for len(l.s.flights) > 0 {
		l.landed.Wait()
	}
	return func() error { return nil }
}

// fail answers what is on its way and what has gathered. A full disk has certainly
// not taken what is on its way.
func (l *logAhead) fail(f *Failure) func() {
	var answer error = errUncertain
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
			l.s.counts.uncertain.Add(int64(len(current.dones)))
			for _, done := range current.dones {
				done(answer)
			}
		}
		l.s.counts.refused.Add(int64(len(waiting.dones)))
		for _, done := range waiting.dones {
			done(f)
		}
	}
}
