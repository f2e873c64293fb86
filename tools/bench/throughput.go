package main

import (
	"context"
	"fmt"
	"slices"
)

// usualLoad is a load of 50 connections with uniform keys.
func usualLoad(a algorithm, pipeline, keys int) load {
	return load{algorithm: a, distribution: uniform, connections: 50, pipeline: pipeline, keys: keys}
}

// targetLoad is the load of the goals.
func targetLoad(a algorithm, pipeline int) load { return usualLoad(a, pipeline, goalKeys) }

// throughput measures every load of the options against both sides.
func throughput(ctx context.Context, e *env) error {
	return e.compareLoads(ctx, redisLua, e.loads(), e.addPair)
}

// besideRedisCell measures the token buckets of the options against redis-cell, if that is at
// hand.
func besideRedisCell(ctx context.Context, e *env) error {
	if e.redisCell == "" {
		return nil
	}
	loads := slices.DeleteFunc(e.loads(), func(l load) bool { return cellCommands[l.algorithm] == nil })
	return e.compareLoads(ctx, redisCell, loads, func(l load, ours, theirs []sample) {
		e.add(cellTable, pairRow(l.String(), ours, theirs)...)
	})
}

// compareLoads measures limitsrv and another product under each load.
func (e *env) compareLoads(ctx context.Context, other product, loads []load,
	add func(l load, ours, theirs []sample)) error {
	var (
		sides  []*side
		filled algorithm
	)
	for _, p := range []product{limitsrv, other} {
		s, err := e.start(ctx, p, "")
		if err != nil {
			return err
		}
		sides = append(sides, s)
	}
	for _, l := range loads {
		if l.algorithm != filled {
			filled = l.algorithm
			e.say("filling for %s", filled)
			for _, s := range sides {
				if err := s.prepare(ctx, l); err != nil {
					return err
				}
			}
		}
		runs, err := e.alternate(ctx, e.duration, contender{sides[0], l}, contender{sides[1], l})
		if err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
		add(l, runs[0], runs[1])
	}
	return nil
}

// addPair adds the samples of a load on both sides.
func (e *env) addPair(l load, ours, theirs []sample) {
	e.add(mainTable, pairRow(l.String(), ours, theirs)...)
	if l != targetLoad(l.algorithm, l.pipeline) {
		return
	}
	name := fmt.Sprintf("pipeline %d", l.pipeline)
	if l.algorithm != tokenBucket {
		name = fmt.Sprintf("%s, %s", name, l.algorithm)
	}
	e.recordRatio("decisions per second, "+name, speedup(ours, theirs))
	e.recordRatio("server CPU per decision, "+name, ratioOf(ours, theirs, cpuMicros))
}
