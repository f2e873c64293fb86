package state

import (
	"context"
	"crypto/rand"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/engine"
)

// inMemory is a state that ends with the process.
type inMemory struct {
	backend.Local
	backend.Clock
	test *backend.TestClock // the Clock, with --test-clock; else nil
}

func newInMemory(limits engine.Options, testClock bool, notices *engine.Notices) *inMemory {
	rand.Read(limits.Seed[:])
	m := new(inMemory)
	if testClock {
		m.test = backend.NewTestClock(engine.Instant(time.Now().UnixNano()))
		m.Clock = m.test
	} else {
		m.Clock = backend.NewSystemClock(0)
	}
	m.Local = backend.Local{Engine: engine.New(limits), Clock: m.Clock, Notices: notices}
	return m
}

// Engine returns the engine that holds the state.
func (m *inMemory) Engine() *engine.Engine { return m.Local.Engine }

// SetBound sets the bound of memory, and whether keys are evicted there.
func (m *inMemory) SetBound(maxMemory int64, evict bool) {
	m.Engine().SetBound(engine.Bound{MaxBytes: maxMemory, Evict: evict})
}

// Sweep removes expired keys from a number of pages, and returns how many it removed.
func (m *inMemory) Sweep(pages int) int64 { return m.Engine().Sweep(m.Now(), pages) }

// Fsync says that nothing is stored.
func (*inMemory) Fsync() string { return "in memory only" }

// Loads returns false: there is nothing to load.
func (*inMemory) Loads() bool { return false }

// Load does nothing.
func (*inMemory) Load(context.Context) error { return nil }

// StepDown does nothing, because no other node can decide.
func (*inMemory) StepDown(context.Context) {}

// Close does nothing: the state ends with the process.
func (*inMemory) Close(context.Context, backend.Parting) error { return nil }
