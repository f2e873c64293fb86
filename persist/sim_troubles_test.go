package persist

import (
	"errors"
	"syscall"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// A simTrouble is a temporary disturbance.
type simTrouble struct {
	name string
	odds int
	do   func(n *simNode)
}

var simTroubles = []simTrouble{
	{"the process crashes", 3, func(n *simNode) { n.crash(100) }},
	{"the power fails", 4, func(n *simNode) { n.crash(n.percent()) }},
	{"the power fails at a write", 5, func(n *simNode) { n.crashAtWrite(100) }},
	{"the power fails at a write of the start", 2, func(n *simNode) {
		n.crash(n.percent())
		n.crashAtWrite(30)
		n.start()
	}},
	{"the power fails at a write of a snapshot", 2, func(n *simNode) {
		n.crashAtWrite(60)
		n.save()
	}},
	{"the node restarts in good order", 2, (*simNode).restart},
	{"the clock jumps", 2, (*simNode).stepClock},
	{"writes fail", 3, func(n *simNode) { n.failDisk(syscall.EIO) }},
	{"the disk is full", 3, func(n *simNode) { n.failDisk(syscall.ENOSPC) }},
	{"writes fail in a snapshot", 1, func(n *simNode) {
		n.failDisk(syscall.EIO)
		n.save()
	}},
	{"the disk hangs", 4, (*simNode).hangDisk},
	{"a snapshot is taken", 3, (*simNode).save},
	{"memory is short", 5, (*simNode).limitMemory},
}

// pick selects a trouble by its odds.
func (n *simNode) pick() simTrouble {
	return simtest.Pick(simTroubles, func(t simTrouble) int { return t.odds }, n.intN)
}

// percent returns how much of the unsynced data survives.
func (n *simNode) percent() int { return []int{0, 50, 99}[n.intN(3)] }

func (n *simNode) crash(percent int) {
	if p := n.running(); p != nil {
		p.crash(percent)
	}
}

// crashAtWrite makes the machine lose its power before one of the next writes of the disk.
func (n *simNode) crashAtWrite(writes int) {
	percent, writes := n.percent(), n.intN(writes)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk.Fault.CallBefore(writes, func() { n.crash(percent) })
}

func (n *simNode) restart() {
	if p := n.running(); p != nil && p.ready.Load() {
		p.stop([]Parting{SaveIfQuick, SaveNever, SaveAlways}[n.intN(3)])
	}
}

func (n *simNode) stepClock() {
	n.clock.Set(n.between(-time.Hour, time.Hour), 1+float64(n.intN(200)-100)/1000)
}

// breakDisk records that the disk is about to fail, and returns it.
func (n *simNode) breakDisk() *simtest.Disk {
	if n.plan.policy != Always {
		n.setBound(0, false) // see limitMemory
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.broken {
		n.broken, n.brokenAt = true, time.Since(n.history.Start)
	}
	return n.disk
}

func (n *simNode) failDisk(err error) { n.breakDisk().Fault.FailWrites(n.intN(20), err) }

// hangDisk makes a disk that works hang until the node has noticed it, or for less. No
// snapshot is under way then, and no segment is being replaced, because a goroutine would
// wait for a mutex of the log, and so stop virtual time.
func (n *simNode) hangDisk() {
	n.with(func(s *Store) {
		for !s.saver.turn.Take() {
			time.Sleep(n.between(0, time.Millisecond))
		}
		defer s.saver.turn.Free()
		disk, noticed := n.breakDisk(), s.failed()
		for hangs := false; !hangs; {
			log := s.log.Load()
			if log.writeMu.TryLock() {
				hangs = !log.rotating.Load()
				disk.Fault.SetHang(hangs)
				log.writeMu.Unlock()
			}
			select {
			case <-noticed:
				return
			case <-time.After(n.between(0, time.Millisecond)):
			}
		}
		select {
		case <-noticed:
		case <-time.After(n.between(0, 5*time.Second)):
			disk.Fault.SetHang(false)
		}
	})
}

func (n *simNode) save() {
	n.with(func(s *Store) {
		done := make(chan error, 1)
		err := s.Save(func(_ Info, err error) { done <- err })
		if err == nil {
			err = <-done
		}
		if err != nil && !errors.Is(err, ErrSaving) && !n.isBroken() {
			n.fault("a snapshot: %v", err)
		}
	})
}

// limitMemory makes the node refuse or evict keys. It evicts no keys while decisions are
// not logged, because the history could not know the evicted keys.
func (n *simNode) limitMemory() {
	n.with(func(s *Store) {
		evict := n.intN(2) == 0 && (n.plan.policy == Always || !n.isBroken())
		bound := max(1, s.Engine().MemoryBytes()*int64(n.intN(5))/4)
		if evict {
			n.history.Mu.Lock()
			n.history.Bounded = true
			n.history.Mu.Unlock()
		}
		n.setBound(bound, evict)
		if bound == 1 && !evict {
			n.addKey()
		}
	})
}

func (n *simNode) setBound(bound int64, evict bool) {
	n.mu.Lock()
	n.bound, n.evict = bound, evict
	n.mu.Unlock()
	n.with(func(s *Store) { s.SetBound(bound, evict) })
}

// addKey takes from a new key without memory for it.
func (n *simNode) addKey() {
	n.mu.Lock()
	key := n.keys.NewKey()
	n.mu.Unlock()
	for _, c := range n.running().ask(simtest.Request{Ops: []engine.Op{{Key: key, N: 1, Params: simtest.Limits[2]}}}) {
		if c.Outcome == simtest.Answered && c.Decisions[0].Status != engine.NoMemory {
			n.fault("call %d was answered %+v, and there was no memory for it", c.Number, c.Decisions[0])
		}
	}
}

// simRepairWithin bounds the time after a repair until the node has logged everything: the
// pause between two attempts to open a failed log, and some time for clients.
const simRepairWithin = time.Second<<maxRetryDoublings + 10*time.Second

// repair ends all troubles, and waits until the node has everything on disk.
func (n *simNode) repair(after string) {
	n.setBound(0, false)
	for from := time.Now(); ; time.Sleep(n.between(0, time.Second)) {
		n.mu.Lock()
		fault := n.disk.Fault
		n.mu.Unlock()
		fault.CallBefore(0, nil)
		fault.FailWrites(0, nil)
		fault.SetHang(false)
		if n.running() == nil {
			n.start()
		}
		well := false
		n.with(func(s *Store) {
			well = s.failure.Load() == nil && s.saver.turn.Since().IsZero()
			if well {
				n.history.compareSnapshot(s)
			}
		})
		if well {
			break
		}
		if time.Since(from) > simRepairWithin {
			n.fault("%v after %s the log is not written again", simRepairWithin, after)
			return
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = false
}
