package main

import (
	"context"
	"fmt"
	"time"
)

// A stage is what a server holds after it has grown to some number of keys.
type stage struct {
	keys         int     // as asked for
	bytesPerKey  float64 // resident, beyond what it held empty, over the keys that are there
	growthPerSec float64 // decisions per second while it grew to here
}

// A growth is how one side fared from empty to full.
type growth struct {
	stages []stage
	// calm is what a prober saw under load on keys that are there already: what
	// the machine itself does to latency. pause is the same while keys were added.
	calm, pause latency
}

const (
	// settle is how long a server may tidy up before its memory is read.
	settle = 2 * time.Second
	// calmFor is how long the prober looks at a table that does not grow.
	calmFor = 5 * time.Second
	// growthShare is the share of what a server can take at which it grows on: the
	// cores must have room for the prober, or its wait tells how they are shared.
	growthShare = 0.5
)

// grow fills s, which is empty, up to each of sizes and reads its memory there: up
// to the first as fast as it goes, and from there on, while a prober watches, at a
// steady growthShare of that.
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
				g.calm, err = probeDuring(ctx, s, func() error { return calmly(ctx, s, size, steady) })
			}
		} else {
			var seen latency
			seen, err = probeDuring(ctx, s, func() error { o, err = growTo(ctx, s, sizes[i-1], size, steady); return err })
			g.pause.p999, g.pause.worst = max(g.pause.p999, seen.p999), max(g.pause.worst, seen.worst)
		}
		if err != nil {
			return g, fmt.Errorf("%s, growing to %d keys: %w", s.name, size, err)
		}
		st, err := weigh(s, empty)
		if err != nil {
			return g, err
		}
		st.keys, st.growthPerSec = size, o.perSecond
		g.stages = append(g.stages, st)
		say("%s at %d keys: %.1f bytes per key, worst pause so far %v", s.name, size, st.bytesPerKey, g.pause.worst)
	}
	return g, nil
}

// calmly loads s for a while with keys that are there.
func calmly(ctx context.Context, s *side, keys int, rate float64) error {
	l := load{tokenBucket, uniform, fillConnections, fillPipeline, keys}
	_, err := generate(ctx, s, l, calmFor, paced(sequential(0, keys, l.connections), rate/fillConnections))
	return err
}

// growTo adds the keys that are behind so many, until there are size.
func growTo(ctx context.Context, s *side, have, size int, rate float64) (outcome, error) {
	l := load{tokenBucket, uniform, fillConnections, fillPipeline, size}
	return generate(ctx, s, l, fillWait, paced(sequential(have, size, l.connections), rate/fillConnections))
}

// weigh reads the memory of a server that held so many bytes when it was empty.
func weigh(s *side, empty int64) (stage, error) {
	time.Sleep(settle)
	n, err := s.keys()
	if err != nil {
		return stage{}, err
	}
	full, err := s.residentBytes()
	return stage{bytesPerKey: float64(full-empty) / float64(max(1, n))}, err
}
