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

// A growthResult is the measurements of a side from empty to full.
type growthResult struct {
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

// growth measures both sides, one at a time.
func growth(ctx context.Context, e *env) error {
	ours, theirs, err := inTurn(e, func(p product) (growthResult, error) { return e.grow(ctx, p) })
	if err == nil {
		e.addGrowth(ours, theirs)
	}
	return err
}

// grow fills an empty server up to each of the sizes and measures its memory there: up to
// the first size at full speed, and from there on at growthShare of that speed, while a
// prober runs.
func (e *env) grow(ctx context.Context, p product) (g growthResult, err error) {
	s, err := e.start(ctx, p, "")
	if err != nil {
		return g, err
	}
	empty, err := s.residentBytes()
	if err != nil {
		return g, err
	}
	steady := load{algorithm: tokenBucket, connections: fillConnections, pipeline: fillPipeline}
	for i, size := range e.sizes {
		var o outcome
		if i == 0 {
			if o, err = s.fill(ctx, tokenBucket, size); err == nil {
				steady.rate = growthShare * o.perSecond
				_, g.calm, err = s.probeDuring(ctx, steady, calmDuration, sequential(0, size, fillConnections))
			}
		} else {
			var seen latency
			o, seen, err = s.probeDuring(ctx, steady, fillWait, sequential(e.sizes[i-1], size, fillConnections))
			g.pause.p999, g.pause.worst = max(g.pause.p999, seen.p999), max(g.pause.worst, seen.worst)
		}
		if err != nil {
			return g, fmt.Errorf("growing to %d keys: %w", size, err)
		}
		st, err := readMemory(s, empty)
		if err != nil {
			return g, err
		}
		st.keys, st.growthPerSec = size, o.perSecond
		g.stages = append(g.stages, st)
		e.say("%s at %d keys: %.1f bytes per key, worst pause so far %v", s.name, size, st.bytesPerKey, g.pause.worst)
	}
	return g, nil
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

// addGrowth adds the rows on memory and pauses.
func (e *env) addGrowth(ours, theirs growthResult) {
	n := min(len(ours.stages), len(theirs.stages))
	for i := range n {
		a, b := ours.stages[i], theirs.stages[i]
		name := fmt.Sprintf("resident bytes per key, %s token buckets", countText(float64(a.keys)))
		e.add(mainTable, name, quotientText(a.growthPerSec, b.growthPerSec), quotientText(a.bytesPerKey, b.bytesPerKey),
			a.text(), b.text())
		e.recordFigure(name, a.bytesPerKey, fmt.Sprintf("%.1f", a.bytesPerKey))
	}
	if n > 1 {
		span := fmt.Sprintf("growing from %s to %s keys", countText(float64(ours.stages[0].keys)),
			countText(float64(ours.stages[n-1].keys)))
		e.add(mainTable, "worst pause, "+span, "",
			quotientText(float64(ours.pause.worst), float64(theirs.pause.worst)), ours.pauseText(), theirs.pauseText())
		e.recordFigure("worst pause while "+span, ours.pause.worst.Seconds()*1e3, millisText(ours.pause.worst))
	}
}

// text formats the memory and the rate of growth.
func (s stage) text() string {
	return fmt.Sprintf("%.1f, filled at %s/s", s.bytesPerKey, countText(s.growthPerSec))
}

// pauseText formats the worst latency with and without growth.
func (g growthResult) pauseText() string {
	return fmt.Sprintf("%s, p99.9 %s (not growing: %s, p99.9 %s)",
		millisText(g.pause.worst), millisText(g.pause.p999), millisText(g.calm.worst), millisText(g.calm.p999))
}
