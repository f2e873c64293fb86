package main

import (
	"context"
	"os"
	"runtime"

	"limitsrv/commands"
	"limitsrv/engine"
)

// A state holds the keys: in memory only (inMemory), in a data directory (storeState),
// or replicated on several nodes (clusterState).
type state interface {
	commands.Exec
	commands.Clock
	Engine() *engine.Engine
	SetBound(maxMemory int64, evict bool)
	Sweep(pages int) (forgotten int64)
	// fsync describes for people when decisions are synced to disk.
	fsync() string
	// loads reports whether load must be called, and must have returned, before Exec.
	loads() bool
	// load recovers the stored state.
	load(context.Context) error
	// stepDown transfers leadership to another node before this process ends.
	stepDown(context.Context)
	// close closes the state, after a snapshot if Parting asks for one.
	close(context.Context, commands.Parting) error
}

// openState opens the state that the options select, and returns the fields of a Config
// that depend on its kind.
func (n *node) openState() (config commands.Config, err error) {
	o := n.options
	limits := engine.Options{MaxMemory: int64(o.MaxMemory), Evict: o.OnFull == "evict"}
	switch {
	case o.Raft != "":
		return n.openClusterState()
	case o.Data != "":
		return n.openStoreState(limits)
	}
	memory := newInMemory(limits, o.TestClock)
	n.state = memory
	config.TestClock = memory.test
	return config, nil
}

// tuneThreads raises GOMAXPROCS above NumCPU, because a goroutine blocked in fsync
// holds its P until sysmon retakes it, and because the kernel preempts the snapshot
// writer sooner than the runtime, which lets a goroutine run for 10 ms. GOMAXPROCS of
// the environment takes precedence.
func tuneThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(4, runtime.NumCPU()+2))
	}
}

// load recovers the state in the background, if it is of a kind that loads, and sends
// the result on the channel.
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
