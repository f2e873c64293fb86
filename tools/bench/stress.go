package main

import (
	"context"
	"fmt"
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

// begin starts a server that closes clients that do not read, fills it with keys, and
// returns the baseline latency of other clients and the resident bytes.
func (b stressPlan) begin(ctx context.Context, binary string) (s *side, before latency, resident int64, err error) {
	if s, err = startLimitsrv(ctx, binary, "--write-timeout", b.writeWait.String()); err != nil {
		return nil, before, 0, err
	}
	if _, err = fill(ctx, s, lastingBucket, b.existing); err == nil {
		before, err = watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, idle))
	}
	if err == nil {
		resident, err = s.residentBytes()
	}
	if err != nil {
		s.stop()
	}
	return s, before, resident, err
}

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

// A stressResult is the results of all stress tests.
type stressResult struct {
	idle        []idleCost        // of limitsrv and Redis
	manyClients []clientScaling   // of limitsrv and Redis
	slow        slowReaderResult  // of clients that do not read, staggered
	slowAtOnce  slowReaderResult  // of clients that do not read, simultaneous
	long        []longPipeline    // replies read concurrently, and read afterwards
	floods      []floodResult     // with --on-full refuse and evict
	attacks     [2][]attackResult // of each kind: on limitsrv and on Redis
}

// measureStress runs the stress tests one after the other, each on newly started
// servers.
func measureStress(ctx context.Context, o options, binary, dir string, say func(string, ...any)) (*stressResult, error) {
	var (
		s    stressResult
		err  error
		b    = o.stress
		most = fmt.Sprint(b.connections + 100)
	)
	if err := haveFiles(b.connections + 1000); err != nil {
		return nil, err
	}
	starts := []func() (*side, error){
		func() (*side, error) { return startLimitsrv(ctx, binary, "--max-clients", most) },
		func() (*side, error) { return startRedis(ctx, dir, "--maxclients", most) },
	}
	for _, start := range starts {
		cost, err := withSide(start, func(sd *side) (idleCost, error) { return measureIdle(ctx, sd, b) })
		if err != nil {
			return nil, fmt.Errorf("idle connections: %w", err)
		}
		say("%d idle connections: %s", b.connections, cost.text())
		s.idle = append(s.idle, cost)
	}
	if s.manyClients, err = measureClientScaling(ctx, o, starts, say); err != nil {
		return nil, fmt.Errorf("active connections: %w", err)
	}
	if err = s.measureReaders(ctx, b, binary, say); err != nil {
		return nil, err
	}
	for _, late := range []bool{false, true} {
		p, err := measureLongPipeline(ctx, b, binary, late)
		if err != nil {
			return nil, fmt.Errorf("a pipeline of %d commands: %w", b.commands, err)
		}
		say("%s", p.text())
		s.long = append(s.long, p)
	}
	for _, policy := range []string{"refuse", "evict"} {
		f, err := measureFlood(ctx, b, binary, policy, say)
		if err != nil {
			return nil, fmt.Errorf("key flood, --on-full %s: %w", policy, err)
		}
		s.floods = append(s.floods, f)
	}
	locked := []func() (*side, error){
		func() (*side, error) { return startLimitsrvLocked(ctx, binary, stressPassword) },
		func() (*side, error) { return startRedisLocked(ctx, dir, stressPassword) },
	}
	for i, start := range locked {
		s.attacks[i], err = withSide(start, func(sd *side) ([]attackResult, error) { return measureAttacks(ctx, b, sd, say) })
		if err != nil {
			return nil, fmt.Errorf("unauthenticated clients: %w", err)
		}
	}
	return &s, nil
}

// measureReaders measures clients that do not read, staggered and simultaneous.
func (s *stressResult) measureReaders(ctx context.Context, b stressPlan, binary string, say func(string, ...any)) (err error) {
	for _, load := range []struct {
		name  string
		apart time.Duration
		to    *slowReaderResult
	}{{"clients that do not read", b.writeWait, &s.slow}, {"clients that do not read, simultaneous", 0, &s.slowAtOnce}} {
		if *load.to, err = measureSlowReaders(ctx, b, binary, load.apart); err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
		say("%s: %s", load.name, load.to.text())
	}
	return nil
}

// withSide starts a server, measures it and stops it.
func withSide[T any](start func() (*side, error), measure func(*side) (T, error)) (T, error) {
	s, err := start()
	if err != nil {
		var none T
		return none, err
	}
	defer s.stop()
	return measure(s)
}

// othersConnections is the number of well-behaved connections.
const othersConnections = 4

// watchOthers returns the latency of decisions on keys 0..keys-1 during work. They are
// requested at a fixed rate, independently of replies.
func watchOthers(ctx context.Context, s *side, b stressPlan, keys int, work func() error) (latency, error) {
	var (
		w watcher
		l = load{algorithm: lastingBucket, connections: othersConnections, pipeline: 1, keys: keys}
	)
	w.open()
	err := alongside(ctx, work, func(ctx context.Context) error { return runSteady(ctx, s, l, float64(b.othersRate), &w) })
	return w.latency(), err
}

// during runs work for d.
func during(ctx context.Context, d time.Duration, work func(context.Context) error) func() error {
	return func() error {
		return alongside(ctx, func() error { return sleep(ctx, d) }, work)
	}
}

// idle does nothing until ctx ends.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// A memoryPeak is the peak memory of a server, in bytes, as sampled.
type memoryPeak struct {
	resident int64
	limits   int64 // limits_memory_bytes
}

// peakEvery is the sampling interval of memory.
const peakEvery = 100 * time.Millisecond

// followResident samples the resident memory of s until ctx ends.
func (m *memoryPeak) followResident(ctx context.Context, s *side) error {
	for sleep(ctx, peakEvery) == nil {
		resident, err := s.residentBytes()
		if err != nil {
			return err
		}
		m.resident = max(m.resident, resident)
	}
	return nil
}

// follow samples the memory of s, a limitsrv, until ctx ends.
func (m *memoryPeak) follow(ctx context.Context, s *side) error {
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	c := newClient(conn)
	for sleep(ctx, peakEvery) == nil {
		resident, err := s.residentBytes()
		if err != nil {
			return err
		}
		conn.SetDeadline(time.Now().Add(lastReplyWait))
		reply, err := c.do("INFO", "limits")
		if err != nil {
			return err
		}
		text, _ := reply.(string)
		limits, err := parseInfo(text).number("limits_memory_bytes")
		if err != nil {
			return err
		}
		m.resident, m.limits = max(m.resident, resident), max(m.limits, limits)
	}
	return nil
}
