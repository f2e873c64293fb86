package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A stressPlan is the intensity of the stress tests.
type stressPlan struct {
	connections int           // concurrent, idle and then active
	rate        int           // decisions per second of all active connections
	othersRate  int           // decisions per second of the measured clients
	watch       time.Duration // duration of each measurement
	hostile     int           // connections of each kind of hostile client
	commands    int           // of one pipeline
	live        int           // keys that a flood must not change
	existing    int           // keys used by the other clients
	floodKeys   int           // distinct keys of one flood
	floodRate   int           // requests per second of a flood
	floodRounds int           // rounds of a flood
	floodMemory int           // --max-memory in MB
	writeWait   time.Duration // --write-timeout for clients that do not read
}

// longStress is the plan of figures.
var longStress = stressPlan{
	connections: 10_000,
	rate:        10_000,
	othersRate:  2000,
	watch:       5 * time.Second,
	hostile:     100,
	commands:    1_000_000,
	live:        100_000,
	existing:    100_000,
	floodKeys:   50_000_000,
	floodRate:   200_000,
	floodRounds: 10,
	floodMemory: 256,
	writeWait:   2 * time.Second,
}

// shortStress is the plan of -quick.
var shortStress = stressPlan{
	connections: 500,
	rate:        2000,
	othersRate:  1000,
	watch:       300 * time.Millisecond,
	hostile:     10,
	commands:    50_000,
	live:        1000,
	existing:    1000,
	floodKeys:   200_000,
	floodRate:   200_000,
	floodRounds: 2,
	floodMemory: 8,
	writeWait:   200 * time.Millisecond,
}

// maxStressConnections is well below the number of ports of one address.
const maxStressConnections = 20_000

// stressLegend describes the rows of the stress tests.
const stressLegend = `Under stress: others are well-behaved clients; their requests are sent at a fixed rate, independently of replies, and their
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

// watchOthers returns the latency of decisions on existing keys during work. They are
// requested at a fixed rate, independently of replies.
func (b stressPlan) watchOthers(ctx context.Context, s *side, work func() error) (latency, error) {
	var (
		w watcher
		l = load{algorithm: lastingBucket, connections: othersConnections, pipeline: 1, keys: b.existing, rate: float64(b.othersRate)}
	)
	w.open()
	err := alongside(ctx, work, func(ctx context.Context) error { return s.runLoad(ctx, l, &w) })
	return w.latency(), err
}

// calm is watchOthers without anything else.
func (b stressPlan) calm(ctx context.Context, s *side) (latency, error) {
	return b.watchOthers(ctx, s, func() error { return sleep(ctx, b.watch) })
}

// A disturbance is an effect on other clients and on the memory of a server.
type disturbance struct {
	before, during latency // of other clients
	grown          int64   // increase of resident bytes at the peak
}

// disturb measures the effect of work.
func (b stressPlan) disturb(ctx context.Context, s *side, work func() error) (d disturbance, err error) {
	if d.before, err = b.calm(ctx, s); err != nil {
		return d, err
	}
	resident, err := s.residentBytes()
	if err != nil {
		return d, err
	}
	peak := int64(0)
	d.during, err = b.watchOthers(ctx, s, func() error {
		return alongside(ctx, work, func(ctx context.Context) error { return samplePeak(ctx, s.residentBytes, &peak) })
	})
	d.grown = peak - resident
	return d, err
}

// p99Text formats the slowdown of other clients.
func (d disturbance) p99Text() string {
	return fmt.Sprintf("%.2fx: p99 %s, before %s", slowdown(d.before, d.during), millisText(d.during.p99), millisText(d.before.p99))
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
