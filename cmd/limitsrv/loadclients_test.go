package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// loadClients are clients of all servers, which send the requests of histories during
// all faults.
type loadClients struct {
	clock   atomic.Int64 // a logical clock
	make    func(number int) history
	running sync.WaitGroup
	cancel  context.CancelFunc

	mu     sync.Mutex
	all    []history
	open   []history // histories in use
	failed error
	// decided is the time of the last decision, and gap the longest time without a
	// decision since the last call of longestGap.
	decided time.Time
	gap     time.Duration
}

const (
	clientsPerServer = 2
	openHistories    = 24 // in use at a time
	permitLimit      = 300
	// takeWait is the timeout of a request.
	takeWait = 2 * time.Second
	// takePause is the pause between two pipelines of a client, which leaves CPU time
	// to the servers.
	takePause = 2 * time.Millisecond
)

// newLoadClients returns clients of histories that make returns; their numbers count from 0.
func newLoadClients(make func(number int) history) *loadClients {
	return &loadClients{make: make, decided: time.Now()}
}

// start starts the clients of the servers at addresses.
func (p *loadClients) start(addresses []string, seed uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	for len(p.open) < openHistories {
		p.open = append(p.open, p.newHistory())
	}
	for i := range clientsPerServer * len(addresses) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		p.running.Go(func() { p.run(ctx, addresses[i%len(addresses)], rng) })
	}
}

// stop stops the clients and waits for their last replies or timeouts.
func (p *loadClients) stop() error {
	p.cancel()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// newHistory adds a history.
//
// Requires: mu is held, or no client is running.
func (p *loadClients) newHistory() history {
	h := p.make(len(p.all))
	p.all = append(p.all, h)
	return h
}

// limiterHistory returns a history of one of the limiters' commands, of each in turn.
func limiterHistory(number int) history {
	kinds := []struct{ name, take string }{
		{"token", "RL.TOKEN %s %d 1/3650d"},
		{"fixed", "RL.FIXED %s %d 3650d"},
		{"slide", "RL.SLIDE %s %d 3650d"},
		{"log", "RL.LOG %s %d 3650d"},
		{"places", "RL.ACQUIRE %s %d 3650d id%%d"},
		{"both", "RL.ALL FIXED %[1]s %[2]d 3650d 1 TOKEN pair:%[1]s %[2]d 1/3650d 1"},
		{"charges", ""},
		{"leases", ""},
	}
	kind := kinds[number%len(kinds)]
	key := fmt.Sprintf("%s:%d", kind.name, number)
	switch kind.name {
	case "charges":
		return &chargeHistory{key: key}
	case "leases":
		return &leaseHistory{key: key}
	}
	c := newPermitHistory(key, fmt.Sprintf(kind.take, key, permitLimit), permitLimit)
	if kind.name == "both" {
		c.pairedKey = "pair:" + key
	}
	return c
}

// pick returns a random history in use. It replaces an exhausted history.
func (p *loadClients) pick(rng *rand.Rand) history {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := rng.IntN(len(p.open))
	if p.open[i].isExhausted() {
		p.open[i] = p.newHistory()
	}
	return p.open[i]
}

// run is a client of one server.
func (p *loadClients) run(ctx context.Context, address string, rng *rand.Rand) {
	for ctx.Err() == nil {
		w, err := wireWithin(address, takeWait)
		for err == nil && ctx.Err() == nil {
			err = p.sendPipeline(w, rng)
			pause(ctx, takePause)
		}
		if w != nil {
			w.Close()
		}
		pause(ctx, 10*takePause)
	}
}

// sendPipeline sends the next commands of random histories in a pipeline.
func (p *loadClients) sendPipeline(w *wire, rng *rand.Rand) error {
	commands := make([]string, 1+rng.IntN(20))
	notes := make([]func(any, int64, int64) error, len(commands))
	for i := range commands {
		commands[i], notes[i] = p.pick(rng).next()
	}
	sent := p.clock.Add(1)
	w.SetDeadline(testwait.Soon(takeWait))
	replies, err := w.all(commands...)
	known := p.clock.Add(1)
	for i, reply := range replies {
		p.answered(notes[i](reply, sent, known), reply)
	}
	return err
}

// answered records errors of histories, and the time of decisions.
func (p *loadClients) answered(err error, reply any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = errors.Join(p.failed, err)
	if _, decided := reply.([]any); decided {
		p.gap = max(p.gap, time.Since(p.decided))
		p.decided = time.Now()
	}
}

// longestGap returns the longest time without a decision since its last call.
func (p *loadClients) longestGap() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	gap := max(p.gap, time.Since(p.decided))
	p.gap = 0
	return gap
}

// audit checks every history against the server's counts.
func (p *loadClients) audit(w *wire) error {
	var failures []error
	for _, b := range p.all {
		var gone []int64
		peeks, limit := b.peeks()
		for _, peek := range peeks {
			reply, err := w.whenLed(peek)
			if err != nil {
				return err
			}
			n, err := used(reply, limit)
			failures = append(failures, err)
			gone = append(gone, n)
		}
		failures = append(failures, b.check(gone))
	}
	return errors.Join(failures...)
}

// awaitDenial waits until a client was denied: on a busy machine that takes longer than the faults.
func (p *loadClients) awaitDenial(t *testing.T) {
	t.Helper()
	await(t, "a client is denied", func() bool { _, denied, _ := p.counts(); return denied > 0 })
}

// counts returns the number of grants, denials and uncertain takes of all
// permitHistories so far.
func (p *loadClients) counts() (given, denied, doubted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.all {
		if c, ok := b.(*permitHistory); ok {
			c.mu.Lock()
			given += len(c.grants)
			denied += c.denials
			doubted += len(c.doubts)
			c.mu.Unlock()
		}
	}
	return given, denied, doubted
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
