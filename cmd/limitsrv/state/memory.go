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

func (m *inMemory) Engine() *engine.Engine { return m.Local.Engine }

func (m *inMemory) SetBound(maxMemory int64, evict bool) {
	m.Engine().SetBound(engine.Bound{MaxBytes: maxMemory, Evict: evict})
}

func (m *inMemory) Sweep(pages int) int64 { return m.Engine().Sweep(m.Now(), pages) }

func (*inMemory) Fsync() string { return "in memory only" }

func (*inMemory) Loads() bool { return false }

func (*inMemory) Load(context.Context) error { return nil }

func (*inMemory) StepDown(context.Context) {}

func (*inMemory) Close(context.Context, backend.Parting) error { return nil }
