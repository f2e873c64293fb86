package main

import (
	"context"
	"fmt"
	"time"
)

// A stage is the memory of a server that has grown to some number of keys.
type stage struct {
	keys         int     // as requested
	bytesPerKey  float64 // growth of resident memory since it was empty, per key held
	growthPerSec float64 // decisions per second during the growth to this stage
}

// A growth is the measurements of one side from empty to full.
type growth struct {
	stages []stage
	// calm is the latency of a prober under a load on existing keys: the noise of the
	// machine. pause is its latency while keys are added.
	calm, pause latency
}

const (
	// settle is the time for background work before memory is measured.
	settle = 2 * time.Second
	// calmDuration is the duration of the baseline on a table that does not grow.
	calmDuration = 5 * time.Second
	// growthShare is the load during growth as a share of the server's capacity. The
	// prober needs free CPU, or its latency would measure the scheduler.
	growthShare = 0.5
)

// grow fills s, which is empty, up to each of sizes and measures its memory there: up
// to the first size at full speed, and from there on at growthShare of that speed,
// while a prober runs.
func grow(ctx context.Context, s *side, sizes []int, say func(string, ...any)) (growth, error) {
	var g growth
	empty, err := s.residentBytes()
	if err != nil {
		return g, err
	}
	var steady float64
	for i, size := range sizes {
		var o outcome
		if i == 0 {
			if o, err = fill(ctx, s, tokenBucket, size); err == nil {
				steady = growthShare * o.perSecond
				g.calm, err = probeDuring(ctx, s, func() error { return loadExisting(ctx, s, size, steady) })
			}
		} else {
			var seen latency
			seen, err = probeDuring(ctx, s, func() error { o, err = growTo(ctx, s, sizes[i-1], size, steady); return err })
			g.pause.p999, g.pause.worst = max(g.pause.p999, seen.p999), max(g.pause.worst, seen.worst)
		}
		if err != nil {
			return g, fmt.Errorf("%s, growing to %d keys: %w", s.name, size, err)
		}
		st, err := readMemory(s, empty)
		if err != nil {
			return g, err
		}
		st.keys, st.growthPerSec = size, o.perSecond
		g.stages = append(g.stages, st)
		say("%s at %d keys: %.1f bytes per key, worst pause so far %v", s.name, size, st.bytesPerKey, g.pause.worst)
	}
	return g, nil
}

// loadExisting loads s for calmDuration with existing keys.
func loadExisting(ctx context.Context, s *side, keys int, rate float64) error {
	l := load{tokenBucket, uniform, fillConnections, fillPipeline, keys}
	_, err := generate(ctx, s, l, calmDuration, paced(sequential(0, keys, l.connections), rate/fillConnections))
	return err
}

// growTo adds keys have..size-1.
func growTo(ctx context.Context, s *side, have, size int, rate float64) (outcome, error) {
	l := load{tokenBucket, uniform, fillConnections, fillPipeline, size}
	return generate(ctx, s, l, fillWait, paced(sequential(have, size, l.connections), rate/fillConnections))
}

// readMemory measures the memory per key of a server that used empty bytes without
// keys.
func readMemory(s *side, empty int64) (stage, error) {
	time.Sleep(settle)
	n, err := s.keys()
	if err != nil {
		return stage{}, err
	}
	full, err := s.residentBytes()
	return stage{bytesPerKey: float64(full-empty) / float64(max(1, n))}, err
}
