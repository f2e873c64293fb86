package main

import (
	"context"
	"os"
	"runtime"

	"limitsrv/commands"
	"limitsrv/engine"
)

// A state is where the keys are: in memory alone (inMemory), in a data directory
// (stored), or on several nodes that decide as one (member).
type state interface {
	commands.Exec
	commands.Clock
	Engine() *engine.Engine
	SetBound(maxMemory int64, evict bool)
	Sweep(pages int) (forgotten int64)
	// commit is what the server calls before it writes replies; nil: nothing.
	commit() func()
	// fsync is when what was decided is synced, for people.
	fsync() string
	// load recovers what was kept. Exec comes after it, unless loads is false.
	loads() bool
	load(context.Context) error
	// stepDown has others decide before this process ends.
	stepDown(context.Context)
	// close ends it, with a snapshot if Parting says so.
	close(context.Context, commands.Parting) error
}

// openState makes the state that the options ask for, and the part of a Config that
// depends on it.
func (n *node) openState() (config commands.Config, err error) {
	o := n.options
	limits := engine.Options{MaxMemory: int64(o.MaxMemory), Evict: o.OnFull == "evict"}
	switch {
	case o.Raft != "":
		return n.openMember()
	case o.Data != "":
		return n.openStored(limits)
	}
	memory := newInMemory(limits, o.TestClock)
	n.state = memory
	config.TestClock = memory.test
	return config, nil
}

// tuneThreads makes up for goroutines that wait for the disk, whose threads the
// runtime takes for busy at first, and for the one that writes a snapshot: who
// shares a core with it is for the system to say, which does so within less time
// than the 10 ms that the runtime leaves a goroutine.
func tuneThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(4, runtime.NumCPU()+2))
	}
}

// load recovers the state, if any is kept. Its end comes through the channel.
func (n *node) load(ctx context.Context) <-chan error {
	loaded := make(chan error, 1)
	if !n.state.loads() {
		loaded <- nil
		return loaded
	}
	n.handler.SetLoading(true)
	go func() { loaded <- n.state.load(ctx) }()
	return loaded
}
