package main

import (
	"context"
	"fmt"
	"time"
)

// A load is what a server is asked, by how many, and how.
type load struct {
	algorithm    algorithm
	distribution distribution
	connections  int
	pipeline     int // requests that a connection sends before it waits
	keys         int
}

// A distribution is how often each key is asked for.
type distribution string

const (
	uniform distribution = "uniform"
	zipf    distribution = "zipf"
)

// String names the load in the table, without its number of keys.
func (l load) String() string {
	return fmt.Sprintf("%s, %s, %d conn, pipeline %d", l.algorithm, l.distribution, l.connections, l.pipeline)
}

// An outcome is what a load generator saw. The latencies are of the time that a
// client waits; pipelined, that is from the sending of the pipeline.
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
	trace   []uint32 // of the keys, for Zipf
	rate    float64  // decisions per second last seen, for the size of the next run
}

// warm runs briefly, unmeasured, to learn how fast the side is.
func (m *meter) warm(ctx context.Context) error {
	m.rate = 1
	o, err := m.run(ctx, min(m.lasting, time.Second))
	m.rate = o.perSecond
	return err
}

// measure is one run.
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

// turnovers is how many times at least every connection sends its pipeline in a
// run of redis-benchmark, which is told a number of requests, not a time.
const turnovers = 8

// run is made by redis-benchmark where that can make the load.
func (m *meter) run(ctx context.Context, lasting time.Duration) (outcome, error) {
	if m.load.distribution == zipf {
		return generate(ctx, m.side, m.load, lasting, following(m.trace, m.load.connections))
	}
	n := max(int(m.rate*lasting.Seconds()), turnovers*m.load.connections*m.load.pipeline, 5000)
	return redisBenchmark(ctx, m.side, m.load, n)
}
