package main

import (
	"context"
	"crypto/rand"
	"time"

	"limitsrv/commands"
	"limitsrv/engine"
)

// inMemory is a state that ends with the process.
type inMemory struct {
	commands.Local
	commands.Clock
	test *commands.TestClock // the Clock, with --test-clock; else nil
}

func newInMemory(limits engine.Options, testClock bool) *inMemory {
	rand.Read(limits.Seed[:])
	m := new(inMemory)
	if testClock {
		m.test = commands.NewTestClock(engine.Instant(time.Now().UnixNano()))
		m.Clock = m.test
	} else {
		m.Clock = commands.NewSystemClock(0)
	}
	m.Local = commands.Local{Engine: engine.New(limits), Clock: m.Clock}
	return m
}

func (m *inMemory) Engine() *engine.Engine { return m.Local.Engine }

func (m *inMemory) SetBound(maxMemory int64, evict bool) { m.Engine().SetBound(maxMemory, evict) }

func (m *inMemory) Sweep(pages int) int64 { return m.Engine().Sweep(m.Now(), pages) }

func (*inMemory) fsync() string { return "in memory only" }

func (*inMemory) loads() bool { return false }

func (*inMemory) load(context.Context) error { return nil }

func (*inMemory) stepDown(context.Context) {}

func (*inMemory) close(context.Context, commands.Parting) error { return nil }
