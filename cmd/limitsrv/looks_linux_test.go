package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/internal/testing/testwait"
)

// counterClients take from a counter and look at it. They record the replies for the checks of
// simulated clusters.
type counterClients struct {
	key     string
	history simtest.History
	running sync.WaitGroup
}

const (
	counterLimit = 1000
	// counterCalls bounds the calls of the clients that run during a fault. Together with lateLooks and
	// the takes after the fault, the calls must stay below the bound of simtest.History.
	counterCalls = 100
	// lateLooks is the number of looks that reach a failing leader after another node has taken.
	lateLooks = 12
)

// ask takes n permits at the server of a connection, or looks: for n = 0, with one of two commands.
func (c *counterClients) ask(w *wire, n int64, peek bool) (simtest.Outcome, error) {
	command := fmt.Sprintf("RL.FIXED %s %d 3650d %d", c.key, counterLimit, n)
	if peek {
		command = "RL.PEEK " + c.key
	}
	params := engine.Params{Alg: engine.Fixed, Limit: counterLimit, Period: simtest.Forever}
	call := &simtest.Call{
		Request: simtest.Request{Ops: []engine.Op{{Key: []byte(c.key), N: n, Params: params}}},
		MayLack: true, // there is no copy of the log
		Called:  time.Since(c.history.Start),
	}
	replies, err := w.all(command)
	call.Answered = time.Since(c.history.Start)
	c.history.Mu.Lock()
	defer c.history.Mu.Unlock()
	list, _ := replies[0].([]any)
	switch outcome := outcomeOf(replies[0]); {
	case err != nil || outcome == doubtful:
		call.Outcome = simtest.Unknown
	case outcome == refused:
		call.Outcome = simtest.Refused
	case len(list) == 5:
		d := engine.Decision{Allowed: 1}
		if !peek {
			d.Allowed, _ = list[0].(int64)
		}
		d.Remaining, _ = list[2].(int64)
		call.Outcome, call.Decisions = simtest.Answered, []engine.Decision{d}
	default:
		call.Outcome = simtest.Refused
		c.history.Fault("%s: %v", command, replies[0])
	}
	if n > 0 || call.Outcome == simtest.Answered {
		c.history.Calls = append(c.history.Calls, call)
	}
	return call.Outcome, err
}

// run is a client of a server. It ends with ctx, after its last call, or when it does not know
// whether it has taken: many such takes would make the check of the history slow.
func (c *counterClients) run(ctx context.Context, address string, calls int, rng *rand.Rand) {
	for ctx.Err() == nil && calls > 0 {
		w, err := wireWithin(address, recoverWait)
		for ; err == nil && ctx.Err() == nil && calls > 0; calls-- {
			var outcome simtest.Outcome
			n := rng.Int64N(2)
			if outcome, err = c.ask(w, n, false); n > 0 && outcome == simtest.Unknown {
				calls = 0
			}
			pause(ctx, time.Duration(rng.Int64N(int64(200*time.Millisecond))))
		}
		if w != nil {
			w.Close()
		}
		pause(ctx, 10*takePause)
	}
}

// until repeats a call until it is answered.
func (c *counterClients) until(t *testing.T, m *peer, n int64) {
	t.Helper()
	await(t, m.host+" answers", func() bool {
		w, err := wireWithin(m.client, takeWait)
		if err != nil {
			return false
		}
		defer w.Close()
		outcome, _ := c.ask(w, n, false)
		return outcome == simtest.Answered
	})
}

// lookLate looks at the counter over open connections to a server that fails.
func (c *counterClients) lookLate(open []*wire) {
	for i, w := range open {
		c.running.Go(func() { c.ask(w, 0, i%2 == 0) })
	}
}

// check returns the faults of the history.
func (c *counterClients) check() []string {
	c.history.Mu.Lock()
	defer c.history.Mu.Unlock()
	c.history.CheckCounters()
	return c.history.Faults
}

// counterFault applies a fault to the leader while clients use a counter at all peers. While the
// fault lasts, another peer takes, and then clients look at the counter at the former leader.
func (c *trio) counterFault(t *testing.T, f fault, key string, rng *rand.Rand) {
	t.Helper()
	victim := -1
	await(t, "a peer leads", func() bool {
		victim = c.leader()
		return victim >= 0
	})
	other := c.peers[(victim+1+rng.IntN(len(c.peers)-1))%len(c.peers)]
	clients := &counterClients{key: key, history: simtest.NewHistory(engine.New(engine.Options{}))}
	clients.until(t, c.peers[victim], 10)
	open := make([]*wire, lateLooks)
	for i := range open {
		open[i] = wired(t, c.peers[victim].client)
		open[i].do(t, "PING")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 2 * len(c.peers) {
		own := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		clients.running.Go(func() { clients.run(ctx, c.peers[i%len(c.peers)].client, counterCalls/(2*len(c.peers)), own) })
	}
	time.Sleep(200 * time.Millisecond)
	undo := f.strike(t, c, victim)
	clients.until(t, other, 50)
	clients.lookLate(open)
	time.Sleep(time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
	undo()
	c.awaitRecovery(t)
	cancel()
	clients.running.Wait()
	for _, m := range c.peers {
		clients.until(t, m, 0)
	}
	for _, failure := range clients.check() {
		t.Errorf("%s: %s", f.name, failure)
	}
}

// TestLooksDuringFaults applies faults to the leader of a cluster of processes. All answers about a
// counter, takes and looks at all peers, must have an order that a single server without failures
// could have produced.
func TestLooksDuringFaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(testwait.Seed(t), 0))
	c := startTrio(t, directories(t), "--fsync", "no")
	c.awaitRecovery(t)
	for i, f := range faults {
		for round := range f.looks {
			c.counterFault(t, f, fmt.Sprintf("counter:%d:%d", i, round), rng)
		}
	}
}
