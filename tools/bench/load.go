package main

import (
	"context"
	"fmt"
	"time"
)

// A load is the requests to a server: their algorithm, keys and concurrency.
type load struct {
	algorithm    algorithm
	distribution distribution
	connections  int
	pipeline     int // requests per write of a connection
	keys         int
}

// A distribution is the frequency distribution of keys.
type distribution string

const (
	uniform distribution = "uniform"
	zipf    distribution = "zipf"
)

// String names the load in the table, without its number of keys.
func (l load) String() string {
	return fmt.Sprintf("%s, %s, %d conn, pipeline %d", l.algorithm, l.distribution, l.connections, l.pipeline)
}

// An outcome is the result of a load generator. The latencies are those of clients; for
// pipelines, from the sending of the pipeline.
type outcome struct {
	decisions      int64
	perSecond      float64
	p50, p99, p999 time.Duration
}

// A sample is one measured run.
type sample struct {
	outcome
	cpuPerDecision time.Duration // of the server, user and system
}

// A meter measures runs of one load against one side.
type meter struct {
	side    *side
	load    load
	lasting time.Duration
	trace   []uint32 // of keys, for zipf only
	rate    float64  // decisions per second of the last run, for the size of the next
}

// warm runs briefly, unmeasured, to find the speed of the side.
func (m *meter) warm(ctx context.Context) error {
	m.rate = 1
	o, err := m.run(ctx, min(m.lasting, time.Second))
	m.rate = o.perSecond
	return err
}

// measure measures one run.
func (m *meter) measure(ctx context.Context) (sample, error) {
	before, err := m.side.cpu()
	if err != nil {
		return sample{}, err
	}
	o, err := m.run(ctx, m.lasting)
	if err != nil {
		return sample{}, err
	}
	after, err := m.side.cpu()
	if err != nil {
		return sample{}, err
	}
	m.rate = o.perSecond
	return sample{o, (after - before) / time.Duration(max(1, o.decisions))}, nil
}

// turnovers is the minimum number of pipelines per connection in a run of
// redis-benchmark, which takes a number of requests, not a duration.
const turnovers = 8

// run uses redis-benchmark, except for loads that it can't generate.
func (m *meter) run(ctx context.Context, lasting time.Duration) (outcome, error) {
	if m.load.distribution == zipf {
		return generate(ctx, m.side, m.load, lasting, following(m.trace, m.load.connections))
	}
	n := max(int(m.rate*lasting.Seconds()), turnovers*m.load.connections*m.load.pipeline, 5000)
	return redisBenchmark(ctx, m.side, m.load, n)
}
