package main

import (
	"context"
	"fmt"
	"slices"
)

// fewConnections is the baseline number of connections.
const fewConnections = 50

// manyConnections compares many active connections with few, on both sides.
func manyConnections(ctx context.Context, e *env) error {
	var (
		b      = e.stress
		full   []contender // few and many connections of limitsrv, then of Redis
		loaded = load{algorithm: tokenBucket, distribution: uniform, pipeline: 1, keys: b.existing}
	)
	for _, p := range []product{limitsrv, redisLua} {
		s, err := e.startForMany(ctx, p)
		if err != nil {
			return err
		}
		if _, err := s.fill(ctx, tokenBucket, b.existing); err != nil {
			return err
		}
		for _, n := range []int{fewConnections, b.connections} {
			loaded.connections = n
			full = append(full, contender{s, loaded})
		}
	}
	atRate := slices.Clone(full)
	for i := range atRate {
		atRate[i].load.rate = float64(b.rate)
	}
	runs, err := e.alternate(ctx, b.watch, full...)
	if err != nil {
		return err
	}
	rated, err := e.alternate(ctx, b.watch, atRate...)
	if err != nil {
		return err
	}
	conns := countText(float64(b.connections))
	e.addStress(fmt.Sprintf("decisions per second, %s connections over %d", conns, fewConnections), check{},
		scalingText(runs[0], runs[1]), scalingText(runs[2], runs[3]))
	e.addStress(fmt.Sprintf("p50 / p99 at %s/s, %s connections (%d)", countText(float64(b.rate)), conns, fewConnections),
		check{"p99 at most Redis'", median(rated[1], p99Millis) <= median(rated[3], p99Millis)},
		latencyText(rated[0], rated[1]), latencyText(rated[2], rated[3]))
	return nil
}

// latencyText formats the latency with many connections, and in brackets that with few.
func latencyText(few, many []sample) string {
	return fmt.Sprintf("%.2f / %.2f ms (%.2f / %.2f ms)", median(many, p50Millis), median(many, p99Millis),
		median(few, p50Millis), median(few, p99Millis))
}

// scalingText formats the speed ratio and the speeds.
func scalingText(few, many []sample) string {
	return fmt.Sprintf("%s: %s/s, p50 / p99 %.1f / %.1f ms (%s/s, %.2f / %.2f ms)", ratioText(speedup(many, few)),
		countText(median(many, perSecond)), median(many, p50Millis), median(many, p99Millis),
		countText(median(few, perSecond)), median(few, p50Millis), median(few, p99Millis))
}
