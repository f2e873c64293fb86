package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/testwait"
)

// takers ask for what is in books, from all servers at once, and go on whatever
// happens to these.
type takers struct {
	clock   atomic.Int64 // only counts
	running sync.WaitGroup
	cancel  context.CancelFunc

	mu     sync.Mutex
	all    []book
	open   []book // those that are asked for
	failed error
	// decided is when a decision was last answered, and gap the longest time without
	// since the last lull.
	decided time.Time
	gap     time.Duration
}

const (
	takersPerServer = 2
	openBooks       = 24 // at a time
	tallyLimit      = 300
	// takeWait is when a taker gives up a server that does not answer.
	takeWait = 2 * time.Second
	// takeRest is between two pipelines of a taker: without, a busy machine takes
	// its own time for a fault.
	takeRest = 2 * time.Millisecond
)

// startTakers starts them. addresses are those of the servers.
func startTakers(addresses []string, seed uint64) *takers {
	ctx, cancel := context.WithCancel(context.Background())
	p := &takers{cancel: cancel, decided: time.Now()}
	for len(p.open) < openBooks {
		p.open = append(p.open, p.newBook())
	}
	for i := range takersPerServer * len(addresses) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		p.running.Go(func() { p.run(ctx, addresses[i%len(addresses)], rng) })
	}
	return p
}

// stop stops them and waits until the last has its answer or gives it up.
func (p *takers) stop() error {
	p.cancel()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// newBook makes one of each kind in turn. mu is held, or nothing runs yet.
func (p *takers) newBook() book {
	number := len(p.all)
	kinds := []struct{ name, take string }{
		{"token", "RL.TOKEN %s %d 1/3650d"},
		{"fixed", "RL.FIXED %s %d 3650d"},
		{"slide", "RL.SLIDE %s %d 3650d"},
		{"log", "RL.LOG %s %d 3650d"},
		{"places", "RL.ACQUIRE %s %d 3650d id%%d"},
		{"both", "RL.ALL FIXED %[1]s %[2]d 3650d 1 TOKEN twin:%[1]s %[2]d 1/3650d 1"},
		{"ledger", ""},
		{"gate", ""},
	}
	kind := kinds[number%len(kinds)]
	key := fmt.Sprintf("%s:%d", kind.name, number)
	var b book
	switch kind.name {
	case "ledger":
		b = &ledger{key: key}
	case "gate":
		b = &gate{key: key}
	default:
		c := newTally(key, fmt.Sprintf(kind.take, key, tallyLimit), tallyLimit)
		if kind.name == "both" {
			c.twin = "twin:" + key
		}
		b = c
	}
	p.all = append(p.all, b)
	return b
}

// pick is an open book. One that is spent makes room for another.
func (p *takers) pick(rng *rand.Rand) book {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := rng.IntN(len(p.open))
	if p.open[i].isSpent() {
		p.open[i] = p.newBook()
	}
	return p.open[i]
}

// run is one taker, of one server.
func (p *takers) run(ctx context.Context, address string, rng *rand.Rand) {
	for ctx.Err() == nil {
		w, err := wireWithin(address, takeWait)
		for err == nil && ctx.Err() == nil {
			err = p.takeSome(w, rng)
			pause(ctx, takeRest)
		}
		if w != nil {
			w.Close()
		}
		pause(ctx, 10*takeRest)
	}
}

// takeSome asks for what is next in some books in a pipeline.
func (p *takers) takeSome(w *wire, rng *rand.Rand) error {
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

// answered takes note of a reply, and of the first that makes no sense.
func (p *takers) answered(err error, reply any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = errors.Join(p.failed, err)
	if _, decided := reply.([]any); decided {
		p.gap = max(p.gap, time.Since(p.decided))
		p.decided = time.Now()
	}
}

// lull is the longest time without a decision since it was last asked for.
func (p *takers) lull() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	gap := max(p.gap, time.Since(p.decided))
	p.gap = 0
	return gap
}

// audit holds every book against what a server says of its keys.
func (p *takers) audit(w *wire) error {
	var failures []error
	for _, b := range p.all {
		var gone []int64
		keys, limit := b.keys()
		for _, key := range keys {
			replies, err := w.all("RL.PEEK " + key)
			if err != nil {
				return err
			}
			n, err := used(replies[0], limit)
			failures = append(failures, err)
			gone = append(gone, n)
		}
		failures = append(failures, b.check(gone))
	}
	return errors.Join(failures...)
}

// counts are the permits given, the denials and the doubts of tallies.
func (p *takers) counts() (given, denied, doubted int) {
	for _, b := range p.all {
		if c, ok := b.(*tally); ok {
			given += len(c.grants)
			denied += c.denials
			doubted += len(c.doubts)
		}
	}
	return given, denied, doubted
}

// pause waits so long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
