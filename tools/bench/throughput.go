package main

import (
	"context"
	"fmt"
	"time"
)

// pairedRuns are the runs of one load against both sides, round by round.
type pairedRuns struct {
	load         load
	ours, theirs []sample
}

// speedup is the ratio of our decisions per second to theirs, of each round.
func (d pairedRuns) speedup() figure {
	return figureOf(ratios(column(d.ours, perSecond), column(d.theirs, perSecond)))
}

// cost is the ratio of our processor time per decision to theirs, of each round.
func (d pairedRuns) cost() figure {
	return figureOf(ratios(column(d.ours, cpuMicros), column(d.theirs, cpuMicros)))
}

// column returns one figure of every round.
func column(rounds []sample, of func(sample) float64) []float64 {
	var all []float64
	for _, s := range rounds {
		all = append(all, of(s))
	}
	return all
}

func perSecond(s sample) float64  { return s.perSecond }
func cpuMicros(s sample) float64  { return float64(s.cpuPerDecision) / 1e3 }
func p50Millis(s sample) float64  { return s.p50.Seconds() * 1e3 }
func p99Millis(s sample) float64  { return s.p99.Seconds() * 1e3 }
func p999Millis(s sample) float64 { return s.p999.Seconds() * 1e3 }

// throughput measures every load of o against both running sides. It reports its
// progress to say.
func throughput(ctx context.Context, o options, ours, theirs *side, say func(string, ...any)) ([]pairedRuns, error) {
	var (
		loads = o.loads()
		pairs []pairedRuns
		trace []uint32
		done  algorithm
	)
	for i, l := range loads {
		if l.algorithm != done {
			done = l.algorithm
			say("filling for %s", l.algorithm)
			for _, s := range []*side{ours, theirs} {
				if err := prepare(ctx, s, l); err != nil {
					return pairs, err
				}
			}
		}
		if l.distribution == zipf && trace == nil {
			trace = zipfTrace(l.keys, zipfTraceLength, 1)
		}
		d, err := runRounds(ctx, o, l, ours, theirs, trace)
		if err != nil {
			return pairs, fmt.Errorf("%s: %w", l, err)
		}
		pairs = append(pairs, d)
		say("[%d/%d] %s: %.2fx the decisions, %.2fx the CPU", i+1, len(loads), l, d.speedup().median, d.cost().median)
	}
	return pairs, nil
}

// zipfTraceLength is the number of requests in a trace of keys before it repeats.
const zipfTraceLength = 1 << 21

// runRounds runs the rounds of one load, alternating between the sides.
func runRounds(ctx context.Context, o options, l load, ours, theirs *side, trace []uint32) (pairedRuns, error) {
	d := pairedRuns{load: l}
	a := &meter{side: ours, load: l, lasting: o.duration, trace: trace}
	b := &meter{side: theirs, load: l, lasting: o.duration, trace: trace}
	for _, m := range []*meter{a, b} {
		if err := m.warm(ctx); err != nil {
			return d, err
		}
	}
	for range o.rounds {
		x, err := a.measure(ctx)
		if err != nil {
			return d, err
		}
		y, err := b.measure(ctx)
		if err != nil {
			return d, err
		}
		d.ours, d.theirs = append(d.ours, x), append(d.theirs, y)
	}
	return d, nil
}

// fillWait bounds the time to fill a server with keys.
const fillWait = 15 * time.Minute

// prepare empties the server and, for token buckets, fills it with all keys. The keys
// of a log expire after its window, so a run with logs starts empty.
func prepare(ctx context.Context, s *side, l load) error {
	if _, err := s.ask("FLUSHALL"); err != nil {
		return err
	}
	if l.algorithm == slidingLog {
		return nil
	}
	_, err := fill(ctx, s, l.algorithm, l.keys)
	return err
}

// fill requests one decision for each key 0..keys-1 and checks that the keys exist.
func fill(ctx context.Context, s *side, a algorithm, keys int) (outcome, error) {
	l := load{algorithm: a, connections: fillConnections, pipeline: fillPipeline, keys: keys}
	o, err := generate(ctx, s, l, fillWait, sequential(0, keys, l.connections))
	if err != nil {
		return o, err
	}
	n, err := s.keys()
	if err == nil && n < int64(keys) {
		err = fmt.Errorf("%s holds %d keys after requests for %d", s.name, n, keys)
	}
	return o, err
}

const (
	fillConnections = 8
	fillPipeline    = 16
)
