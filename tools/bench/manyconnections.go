package main

import (
	"context"
	"fmt"
)

// fewConnections is the baseline number of connections.
const fewConnections = 50

// manyConnections compares many active connections with few, on both sides.
func manyConnections(ctx context.Context, e *env) error {
	var (
		b          = e.stress
		counts     = []int{fewConnections, b.connections}
		contenders []contender
		atRate     []latency
		loaded     = load{algorithm: tokenBucket, distribution: uniform, pipeline: 1, keys: b.existing}
	)
	for _, p := range []product{limitsrv, redisLua} {
		s, err := e.startForMany(ctx, p)
		if err != nil {
			return err
		}
		if _, err := s.fill(ctx, tokenBucket, b.existing); err != nil {
			return err
		}
		for _, n := range counts {
			loaded.connections = n
			contenders = append(contenders, contender{s, loaded})
		}
	}
	runs, err := e.alternate(ctx, b.watch, contenders...)
	if err != nil {
		return err
	}
	for _, c := range contenders {
		c.load.rate = float64(b.rate)
		got, err := e.run(ctx, c, b.watch, 0)
		if err != nil {
			return err
		}
		atRate = append(atRate, got.latency)
	}
	conns := countText(float64(b.connections))
	e.addStress(fmt.Sprintf("decisions per second, %s connections over %d", conns, fewConnections), check{},
		scalingText(runs[0], runs[1]), scalingText(runs[2], runs[3]))
	text := func(few, many latency) string {
		return fmt.Sprintf("%s (%s)", millisTexts(many.p50, many.p99), millisTexts(few.p50, few.p99))
	}
	e.addStress(fmt.Sprintf("p50 / p99 at %s/s, %s connections (%d)", countText(float64(b.rate)), conns, fewConnections), check{},
		text(atRate[0], atRate[1]), text(atRate[2], atRate[3]))
	return nil
}

// scalingText formats the speed ratio and the speeds.
func scalingText(few, many []sample) string {
	return fmt.Sprintf("%s: %s/s, p50 / p99 %.1f / %.1f ms (%s/s, %.2f / %.2f ms)", ratioText(speedup(many, few)),
		countText(median(many, perSecond)), median(many, p50Millis), median(many, p99Millis),
		countText(median(few, perSecond)), median(few, p50Millis), median(few, p99Millis))
}
