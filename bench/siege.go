package main

import (
	"context"
	"fmt"
	"time"
)

// A besiege is how hard a server is pressed.
type besiege struct {
	connections int           // at once, idle and then active
	rate        int           // decisions per second of active connections, in all
	others      int           // decisions per second of those whose latency is watched
	watch       time.Duration // how long each thing is watched
	hostile     int           // connections of each kind that do harm
	commands    int           // of one pipeline
	live        int           // keys that a flood must not touch
	existing    int           // keys that are decided about during a flood
	floodKeys   int           // distinct, of one flood
	floodRate   int           // per second
	floodRounds int           // parts that it comes in
	floodMemory int           // --max-memory in MB
	writeWait   time.Duration // --write-timeout where clients do not read
}

// begin starts a server that closes who does not read, with keys, and says what the
// latency of others is there, and its resident bytes.
func (b besiege) begin(ctx context.Context, binary string) (s *side, before latency, resident int64, err error) {
	if s, err = startLimitsrv(ctx, binary, "--write-timeout", b.writeWait.String()); err != nil {
		return nil, before, 0, err
	}
	if _, err = fill(ctx, s, lastingBucket, b.existing); err == nil {
		before, err = watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, pass))
	}
	if err == nil {
		resident, err = s.residentBytes()
	}
	if err != nil {
		s.stop()
	}
	return s, before, resident, err
}

var longSiege = besiege{
	connections: 10_000,
	rate:        10_000,
	others:      2000,
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

// shortSiege is for -quick.
var shortSiege = besiege{
	connections: 500,
	rate:        2000,
	others:      1000,
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

// maxSiegeConnections are as many as there are ports for on one address, by far.
const maxSiegeConnections = 20_000

// A siege is what came of pressing the servers.
type siege struct {
	idle    []idleCost     // of limitsrv, Redis
	crowded []crowding     // likewise
	slow    slowness       // of clients that come one after the other
	greedy  slowness       // of as many at once
	long    []longPipeline // read all along, and read in the end
	floods  []flooding     // under refuse, evict
	harms   [2][]harm      // of each kind of stranger: to limitsrv, to Redis
}

// measureSiege presses the servers in one way after the other. Each starts anew
// for each.
func measureSiege(ctx context.Context, o options, binary, dir string, say func(string, ...any)) (*siege, error) {
	var (
		s    siege
		err  error
		b    = o.siege
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
	if s.crowded, err = measureCrowds(ctx, o, starts, say); err != nil {
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
		func() (*side, error) { return startLimitsrvLocked(ctx, binary, siegePassword) },
		func() (*side, error) { return startRedisLocked(ctx, dir, siegePassword) },
	}
	for i, start := range locked {
		s.harms[i], err = withSide(start, func(sd *side) ([]harm, error) { return measureStrangers(ctx, b, sd, say) })
		if err != nil {
			return nil, fmt.Errorf("strangers: %w", err)
		}
	}
	return &s, nil
}

// measureReaders has clients come that do not read, in one way after the other.
func (s *siege) measureReaders(ctx context.Context, b besiege, binary string, say func(string, ...any)) (err error) {
	for _, load := range []struct {
		name  string
		apart time.Duration
		to    *slowness
	}{{"clients that do not read", b.writeWait, &s.slow}, {"clients that do not read, all at once", 0, &s.greedy}} {
		if *load.to, err = measureSlowReaders(ctx, b, binary, load.apart); err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
		say("%s: %s", load.name, load.to.text())
	}
	return nil
}

// withSide starts a server, measures it and ends it.
func withSide[T any](start func() (*side, error), measure func(*side) (T, error)) (T, error) {
	s, err := start()
	if err != nil {
		var none T
		return none, err
	}
	defer s.stop()
	return measure(s)
}

// othersConnections are those of whoever does no harm.
const othersConnections = 4

// watchOthers tells how long decisions of 0..keys-1 wait while work is done. They come at
// a fixed rate, whatever the server does.
func watchOthers(ctx context.Context, s *side, b besiege, keys int, work func() error) (latency, error) {
	var (
		w watcher
		l = load{algorithm: lastingBucket, connections: othersConnections, pipeline: 1, keys: keys}
	)
	w.open()
	err := alongside(ctx, work, func(ctx context.Context) error { return hold(ctx, s, l, float64(b.others), &w) })
	return w.latency(), err
}

// during runs work for so long.
func during(ctx context.Context, d time.Duration, work func(context.Context) error) func() error {
	return func() error {
		return alongside(ctx, func() error { return sleep(ctx, d) }, work)
	}
}

// pass is work that is none.
func pass(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// A memoryPeak is the most memory of a server that was seen, in bytes.
type memoryPeak struct {
	resident int64
	limits   int64 // limits_memory_bytes
}

// peakEvery is how often memory is looked at.
const peakEvery = 100 * time.Millisecond

// followResident looks at the memory of s as the system tells it, until ctx ends.
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

// follow looks at the memory of s, a limitsrv, until ctx ends.
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
