package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"limitsrv/commands"
	"limitsrv/engine"
	"limitsrv/server"
)

// A node is a server with all that it stands on.
type node struct {
	options  *options
	log      *slog.Logger
	engine   *engine.Engine
	handler  *commands.Handler
	clock    commands.Clock
	server   *server.Server
	settings settings
	// maxMemory and evict are the bound of keys, as of now; settings.mu guards them.
	maxMemory size
	evict     bool
	heapLimit int64         // that of the environment, which holds where there is no bound
	shutdown  chan struct{} // has one element once SHUTDOWN was asked for
}

// newNode puts a node together and binds its addresses. told are the options as it
// tells them, and level is that of log.
func newNode(o *options, told []commands.Option, log *slog.Logger, level *slog.LevelVar) (*node, error) {
	if err := wantFiles(o.MaxClients + spareFiles); err != nil {
		log.Warn("fewer connections than --max-clients will fit", "error", err)
	}
	n := &node{
		options: o, log: log, settings: settings{all: told}, shutdown: make(chan struct{}, 1),
		maxMemory: o.MaxMemory, evict: o.OnFull == "evict", heapLimit: debug.SetMemoryLimit(-1),
	}
	debug.SetGCPercent(gcPercent)
	n.limitHeap()
	var seed [16]byte
	rand.Read(seed[:])
	n.engine = engine.New(engine.Options{
		Seed:      seed,
		MaxMemory: int64(n.maxMemory),
		Evict:     n.evict,
	})
	var testClock *commands.TestClock
	now := engine.Instant(time.Now().UnixNano())
	if o.TestClock {
		testClock = commands.NewTestClock(now)
		n.clock = testClock
	} else {
		n.clock = commands.NewSystemClock(0)
	}
	n.handler = commands.NewHandler(commands.Config{
		Exec:      &commands.Local{Engine: n.engine, Clock: n.clock},
		Engine:    n.engine,
		Clock:     n.clock,
		TestClock: testClock,
		Cluster:   clusterOf(o.ClusterMode),
		Password:  o.Password,
		Version:   version,
		Options:   n.settings.list,
		Shutdown:  n.askShutdown,
	})
	var err error
	n.server, err = server.New(server.Config{
		Listen:       o.Listen,
		UnixSocket:   o.Unixsocket,
		MaxClients:   o.MaxClients,
		Limits:       o.limits(),
		WriteTimeout: o.WriteTimeout,
		IdleTimeout:  o.IdleTimeout,
		Loops:        o.IOThreads,
		NewSession:   func(c commands.Client) server.Session { return n.handler.NewSession(c) },
		Logger:       log,
	})
	if err == nil {
		n.allowChanges(level)
	}
	return n, err
}

// clusterOf is the cluster of a mode.
func clusterOf(mode string) commands.Cluster {
	if mode == "emulated" {
		return commands.NewEmulated()
	}
	return commands.NoCluster{}
}

// spareFiles are the files that are open besides connections.
const spareFiles = 64

// askShutdown is for SHUTDOWN. It does not wait. In memory there is nothing to save.
func (n *node) askShutdown(bool) {
	select {
	case n.shutdown <- struct{}{}:
	default:
	}
}

// run serves until a signal or SHUTDOWN and then drains. A second signal ends it
// at once, with an error.
func (n *node) run(signals <-chan os.Signal) error {
	n.log.Info("listening", "version", version, "mode", "memory",
		"addr", n.server.Addr().String(), "unixsocket", n.options.Unixsocket, "max_clients", n.options.MaxClients,
		"max_memory", n.options.MaxMemory.String(), "on_full", n.options.OnFull, "test_clock", n.options.TestClock)
	stop := n.startSweeping()
	defer stop()
	go n.server.Serve()
	select {
	case s := <-signals:
		n.log.Info("shutting down", "signal", s.String(), "drain", n.options.Drain)
	case <-n.shutdown:
		n.log.Info("shutting down", "command", "SHUTDOWN", "drain", n.options.Drain)
	}
	return n.drain(signals)
}

// errAgain is how a second signal ends the program.
var errAgain = errors.New("a second signal: ended at once, without answering what was under way")

// drain answers what is under way. Connections that are not done when the time
// is over are cut off.
func (n *node) drain(signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), n.options.Drain)
	defer cancel()
	n.handler.Unpause() // what it holds back could not be answered
	drained := make(chan error, 1)
	go func() { drained <- n.server.Shutdown(ctx) }()
	select {
	case err := <-drained:
		if err != nil {
			n.log.Warn("stopped before all was answered", "error", err)
		} else {
			n.log.Info("stopped")
		}
		return nil
	case <-signals:
		return errAgain
	}
}

// Sweeping looks at every key about once in sweepRound, a bounded number at a
// time.
const (
	sweepRound = time.Minute
	sweepTick  = 20 * time.Millisecond
	// pageKeys is how many keys there are in a page of Engine.Sweep, about.
	pageKeys = 60
	// sweepSteps bounds the steps of one tick.
	sweepSteps = 16
)

// startSweeping forgets rested keys until the function that it returns is called,
// which waits for the last step. Where much is found it looks again at once.
func (n *node) startSweeping() (stop func()) {
	var (
		done = make(chan struct{})
		wait sync.WaitGroup
	)
	wait.Go(func() {
		ticker := time.NewTicker(sweepTick)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			pages := sweepPages(n.engine.Len())
			for range sweepSteps {
				if n.engine.Sweep(n.clock.Now(), pages) < int64(pages)*pageKeys/4 {
					break
				}
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}

// sweepPages is how many pages one step looks at where there are so many keys.
func sweepPages(keys int64) int {
	const ticks = int64(sweepRound / sweepTick)
	return 1 + int(keys/(pageKeys*ticks))
}

// gcPercent is how much the heap, which is keys, may grow between two collections.
// Of keys the collector sees little but a pointer for every 60: what is not yet
// collected is memory that keys could have, but a collection takes a core for
// milliseconds.
const gcPercent = 50

// limitHeap has the garbage collector work harder where the heap nears its bound:
// that of keys, and for the rest of the server a quarter as much again and 64 MB.
func (n *node) limitHeap() {
	limit := n.heapLimit
	if bound := int64(n.maxMemory); bound > 0 && bound < math.MaxInt64/2 {
		limit = bound + bound/4 + 64<<20
	}
	debug.SetMemoryLimit(limit)
}
