package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// maxStressConnections is well below the number of ports of one address.
const maxStressConnections = 20_000

// stressLegend describes the rows of the stress tests.
const stressLegend = `Under stress: the other clients are well-behaved; their requests are sent at a fixed rate, independently of replies, and their
latency counts from the due time. A flood is compared with decisions on existing keys at the same rate and with the same
pipelines, round by round; the figures are medians of the rounds, µs are of server CPU.
`

// addStress adds a row. A quick run has no verdicts.
func (e *env) addStress(name string, c check, ours, theirs string) {
	verdict := c.verdict()
	if e.quick {
		verdict = ""
	}
	e.add(stressTable, name, c.asked, ours, theirs, verdict)
}

// slowdownGoal is the goal of the slowdown of other clients.
var slowdownGoal = goal{order: atMost, bound: 2, unit: "x"}

// othersConnections is the number of well-behaved connections.
const othersConnections = 4

// watchOthers returns the outcome of decisions on existing keys while work runs. They are requested
// at a fixed rate, independently of replies.
func (b stressPlan) watchOthers(ctx context.Context, s *side, work func() error) (outcome, error) {
	var (
		w watcher
		l = load{
			algorithm: lastingBucket, connections: othersConnections, pipeline: 1, keys: b.existing, rate: float64(b.othersRate),
			refusable: len(s.nodes) > 1, // their leader may change
		}
	)
	w.open()
	err := alongside(ctx, work, func(ctx context.Context) error { return s.runLoad(ctx, l, &w) })
	return w.outcome(b.watch), err
}

// calm is watchOthers without anything else.
func (b stressPlan) calm(ctx context.Context, s *side) (outcome, error) {
	return b.watchOthers(ctx, s, func() error { return sleep(ctx, b.watch) })
}

// A disturbance is an effect on other clients and on the memory of a server.
type disturbance struct {
	before, during latency // of other clients
	grown          int64   // increase of resident bytes at the peak
}

// disturb measures the effect of work.
func (b stressPlan) disturb(ctx context.Context, s *side, work func() error) (d disturbance, err error) {
	before, err := b.calm(ctx, s)
	if err != nil {
		return d, err
	}
	resident, err := s.residentBytes()
	if err != nil {
		return d, err
	}
	peak := int64(0)
	during, err := b.watchOthers(ctx, s, func() error {
		return alongside(ctx, work, func(ctx context.Context) error { return samplePeak(ctx, s.residentBytes, &peak) })
	})
	d.before, d.during, d.grown = before.latency, during.latency, peak-resident
	return d, err
}

// p99Text formats the slowdown of other clients.
func (d disturbance) p99Text() string {
	return fmt.Sprintf("%.2fx: p99 %s, before %s", slowdown(d.before, d.during), millisText(d.during.p99),
		millisText(d.before.p99))
}

// peakEvery is the sampling interval of memory.
const peakEvery = 50 * time.Millisecond

// samplePeak samples a figure until ctx ends, and once more then.
func samplePeak(ctx context.Context, read func() (int64, error), peak *int64) error {
	for ended := false; !ended; {
		ended = sleep(ctx, peakEvery) != nil
		n, err := read()
		if err != nil {
			return err
		}
		*peak = max(*peak, n)
	}
	return nil
}

// runClients runs n clients for the time lasting and waits for their end.
func runClients(ctx context.Context, n int, lasting time.Duration, client func(ctx context.Context, i int)) {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { client(ctx, i) })
	}
	wait.Wait()
}

// startFilled starts a limitsrv or Redis with the keys that other clients use.
func (e *env) startFilled(ctx context.Context, p product, password string, extra ...string) (*side, error) {
	s, err := e.start(ctx, p, password, extra...)
	if err != nil {
		return nil, err
	}
	_, err = s.fill(ctx, lastingBucket, e.stress.existing)
	return s, err
}
