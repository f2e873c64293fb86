package main

import (
	"context"
	"fmt"
	"time"
)

// A floodResult is the effect of a flood of distinct keys on a server with a memory
// bound, round by round.
type floodResult struct {
	// Latency of decisions on existing keys: without load, under a load of existing keys,
	// and under a flood of new keys at the same rate.
	calm, loaded, flooded []latency
	load, flood           []sample // rate and cost on the server
	limits, resident      int64    // peak of limits_memory_bytes, and of resident bytes
	intact                int      // live keys, which are not in the flood, that are unchanged
}

// floodConnections is the number of connections of the flood and of the load that is its
// baseline.
const floodConnections = 2

// wantResident is the highest ratio of resident bytes to --max-memory that meets the goal.
const wantResident = 1.6

// keyFloods floods a limitsrv with each --on-full.
func keyFloods(ctx context.Context, e *env) error {
	for _, policy := range []string{"refuse", "evict"} {
		f, err := e.measureFlood(ctx, policy)
		if err != nil {
			return fmt.Errorf("key flood, --on-full %s: %w", policy, err)
		}
		e.addFlood(policy, f)
		e.stop()
	}
	return nil
}

// measureFlood floods a limitsrv with keys, one part of them in each round.
func (e *env) measureFlood(ctx context.Context, policy string) (f floodResult, err error) {
	b := e.stress
	s, err := e.startFilled(ctx, limitsrv, "", "--max-memory", fmt.Sprintf("%dmb", b.floodMemory), "--on-full", policy)
	if err != nil {
		return f, err
	}
	if err := s.useKeys(b.live); err != nil {
		return f, err
	}
	for round := range b.floodRounds {
		if err := f.round(ctx, s, b, round); err != nil {
			return f, err
		}
		e.say("%s, round %d: p99 %v calm, %v under load, %v under the flood at %s/s", policy, round+1,
			f.calm[round].p99, f.loaded[round].p99, f.flooded[round].p99, countText(f.flood[round].perSecond))
	}
	f.intact, err = s.countIntact(b.live)
	return f, err
}

// round measures the three situations once, with one part of the flood's keys.
func (f *floodResult) round(ctx context.Context, s *side, b stressPlan, number int) error {
	calm, err := b.calm(ctx, s)
	if err != nil {
		return err
	}
	l := load{algorithm: lastingBucket, connections: floodConnections, pipeline: 64, rate: float64(b.floodRate),
		refusable: true}
	// others returns the latency of existing keys under l, and its own rate and cost.
	others := func(lasting time.Duration, keysOf sources) (_ latency, got sample, err error) {
		seen, err := b.watchOthers(ctx, s, func() (err error) {
			got, err = s.measure(func() (outcome, error) { return s.generate(ctx, l, lasting, keysOf) })
			return err
		})
		return seen.latency, got, err
	}
	loaded, loadCost, err := others(b.watch, scattered(b.existing))
	if err != nil {
		return err
	}
	var (
		share     = b.floodKeys / b.floodRounds
		from      = b.existing + number*share
		flooded   latency
		floodCost sample
	)
	err = alongside(ctx, func() (err error) {
		flooded, floodCost, err = others(fillWait, sequential(from, from+share, floodConnections))
		return err
	}, func(ctx context.Context) error { return samplePeak(ctx, s.residentBytes, &f.resident) },
		func(ctx context.Context) error {
			limits := func() (int64, error) { return s.figure("limits", "limits_memory_bytes") }
			return samplePeak(ctx, limits, &f.limits)
		})
	f.calm, f.loaded, f.flooded = append(f.calm, calm.latency), append(f.loaded, loaded), append(f.flooded, flooded)
	f.load, f.flood = append(f.load, loadCost), append(f.flood, floodCost)
	return err
}

// addFlood adds the rows of a policy.
func (e *env) addFlood(policy string, f floodResult) {
	var (
		b              = e.stress
		bound          = int64(b.floodMemory) << 20
		asked, refused int64
	)
	for _, r := range f.flood {
		asked, refused = asked+r.decisions, refused+r.refused
	}
	over := func(without []latency) figure { return ratioOf(f.flooded, without, p99Nanos) }
	name := fmt.Sprintf("%s new keys, --max-memory %d MB, %s: ", countText(float64(asked)), b.floodMemory, policy)
	e.addStress(name+"p99 of existing keys over that under the same load", slowdownGoal.check(over(f.loaded).median),
		fmt.Sprintf("%s: %s; loaded %s; calm %s, %.2fx", ratioText(over(f.loaded)), floodText(f.flooded, f.flood),
			floodText(f.loaded, f.load),
			millisText(time.Duration(median(f.calm, p99Nanos))), over(f.calm).median), "")
	times := float64(f.resident) / float64(bound)
	e.addStress(name+"limits_memory_bytes / resident bytes at most",
		check{fmt.Sprintf("the bound / %gx of it", wantResident), f.limits <= bound && times <= wantResident},
		fmt.Sprintf("%.1f MB / %.1f MB, %.2fx the bound", float64(f.limits)/(1<<20), float64(f.resident)/(1<<20), times), "")
	live := check{}
	if policy == "refuse" {
		live = check{"all", f.intact == b.live}
	}
	e.addStress(name+"live limits as they were", live,
		fmt.Sprintf("%d of %d; %s of the flood refused", f.intact, b.live, countText(float64(refused))), "")
}

func p99Nanos(l latency) float64 { return float64(l.p99) }

// floodText formats the latency of other clients under a load, and the rate and cost of the
// load.
func floodText(others []latency, cost []sample) string {
	return fmt.Sprintf("%s at %s/s, %.2f µs each", millisText(time.Duration(median(others, p99Nanos))),
		countText(median(cost, perSecond)), median(cost, cpuMicros))
}

// liveLimit is the limit of a key that no load uses, liveKey its name, and liveUse the
// number of its permits that are used.
const liveLimit = 1000

func liveKey(i int) string { return fmt.Sprintf("live:%d", i) }
func liveUse(i int) int    { return 1 + i%50 }

// useKeys creates n limits that are partly used. A permit is refilled after two hours.
func (s *side) useKeys(n int) error {
	return s.askForKeys(n, func(c *client, i int) error {
		reply, err := c.do("RL.TOKEN", liveKey(i), fmt.Sprint(liveLimit), fmt.Sprintf("%d/100d", liveLimit),
			fmt.Sprint(liveUse(i)))
		if err == nil && !allowed(reply) {
			err = fmt.Errorf("%s: the first request was answered %v", liveKey(i), reply)
		}
		return err
	})
}

// countIntact returns the number of those limits that are unchanged since useKeys.
func (s *side) countIntact(n int) (intact int, err error) {
	err = s.askForKeys(n, func(c *client, i int) error {
		reply, err := c.do("RL.PEEK", liveKey(i))
		if f, ok := reply.([]any); ok && len(f) == 5 && f[1] == int64(liveLimit) && f[2] == int64(liveLimit-liveUse(i)) {
			intact++
		}
		return err
	})
	return intact, err
}

// askForKeys calls ask for n keys with a single connection, until it fails.
func (s *side) askForKeys(n int, ask func(c *client, i int) error) error {
	c, err := dial(s.address)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	c.conn.SetDeadline(time.Now().Add(fillWait))
	for i := range n {
		if err := ask(c, i); err != nil {
			return err
		}
	}
	return nil
}
