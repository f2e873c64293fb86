package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// takers take permits of tallied keys, from all servers at once, and go on whatever
// happens to these.
type takers struct {
	clock   atomic.Int64 // only counts
	running sync.WaitGroup
	cancel  context.CancelFunc

	mu     sync.Mutex
	all    []*tally
	open   []*tally // those that are taken of
	failed error
	// decided is when a decision was last answered, and gap the longest time without
	// since the last lull.
	decided time.Time
	gap     time.Duration
}

const (
	takersPerServer = 2
	openTallies     = 24 // at a time
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
	for len(p.open) < openTallies {
		p.open = append(p.open, p.newTally())
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

// newTally makes one of each algorithm in turn. mu is held, or nothing runs yet.
func (p *takers) newTally() *tally {
	kinds := []struct{ name, take string }{
		{"token", "RL.TOKEN %s %d 1/3650d"},
		{"fixed", "RL.FIXED %s %d 3650d"},
		{"slide", "RL.SLIDE %s %d 3650d"},
		{"log", "RL.LOG %s %d 3650d"},
		{"places", "RL.ACQUIRE %s %d 3650d id%%d"},
	}
	kind := kinds[len(p.all)%len(kinds)]
	key := fmt.Sprintf("%s:%d", kind.name, len(p.all))
	c := newTally(key, fmt.Sprintf(kind.take, key, tallyLimit), tallyLimit)
	p.all = append(p.all, c)
	return c
}

// pick is an open tally. One that is spent makes room for another.
func (p *takers) pick(rng *rand.Rand) *tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := rng.IntN(len(p.open))
	if p.open[i].isSpent() {
		p.open[i] = p.newTally()
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

// takeSome takes of some tallies in a pipeline.
func (p *takers) takeSome(w *wire, rng *rand.Rand) error {
	picked := make([]*tally, 1+rng.IntN(20))
	commands := make([]string, len(picked))
	for i := range picked {
		picked[i] = p.pick(rng)
		commands[i] = picked[i].take
		if strings.Contains(commands[i], "%d") {
			commands[i] = fmt.Sprintf(commands[i], holders.Add(1))
		}
	}
	sent := p.clock.Add(1)
	w.SetDeadline(time.Now().Add(takeWait))
	replies, err := w.all(commands...)
	known := p.clock.Add(1)
	for i, reply := range replies {
		p.answered(picked[i].note(reply, sent, known), reply)
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

// audit holds every tally against what a server says of its key.
func (p *takers) audit(w *wire) error {
	var failures []error
	for _, c := range p.all {
		replies, err := w.all("RL.PEEK " + c.key)
		if err != nil {
			return err
		}
		gone, err := used(replies[0], c.limit)
		if err == nil {
			err = c.check(gone)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// keys are all that were ever taken of.
func (p *takers) keys() (all []string) {
	for _, c := range p.all {
		all = append(all, c.key)
	}
	return all
}

// counts are the permits given, the denials and the doubts.
func (p *takers) counts() (given, denied, doubted int) {
	for _, c := range p.all {
		given += len(c.grants)
		denied += c.denials
		doubted += len(c.doubts)
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
