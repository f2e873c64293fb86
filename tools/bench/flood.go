package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A floodResult is the effect of a flood of distinct keys on a server with a memory
// bound.
type floodResult struct {
	policy string // --on-full
	bound  int64  // --max-memory, in bytes
	// Latency of decisions on existing keys, round by round: without load, under a
	// load of existing keys, and under a flood of new keys at the same rate.
	calm, loaded, flooded []latency
	load, flood           []sample // rate and cost on the server
	asked, refused        int64    // requests of the flood
	peak                  memoryPeak
	live, intact          int // keys not in the flood, and those of them that are unchanged
}

const (
	// floodConnections and floodPipeline apply to the flood and to the load that is
	// its baseline.
	floodConnections = 2
	floodPipeline    = 64
)

// measureFlood floods a limitsrv with keys, round by round.
func measureFlood(ctx context.Context, b stressPlan, binary, policy string, say func(string, ...any)) (floodResult, error) {
	f := floodResult{policy: policy, bound: int64(b.floodMemory) << 20, live: b.live}
	s, err := startLimitsrv(ctx, binary, "--max-memory", fmt.Sprintf("%dmb", b.floodMemory), "--on-full", policy)
	if err != nil {
		return f, err
	}
	defer s.stop()
	if err := useKeys(s, b.live); err != nil {
		return f, err
	}
	if _, err := fill(ctx, s, lastingBucket, b.existing); err != nil {
		return f, err
	}
	for round := range b.floodRounds {
		if err := f.round(ctx, s, b, round); err != nil {
			return f, err
		}
		last := len(f.flooded) - 1
		say("%s, round %d: p99 %v calm, %v under load, %v under the flood at %s/s", policy, round+1,
			f.calm[last].p99, f.loaded[last].p99, f.flooded[last].p99, countText(f.flood[last].perSecond))
	}
	f.intact, err = countIntact(s, b.live)
	return f, err
}

// round measures the three situations once, with one part of the flood's keys.
func (f *floodResult) round(ctx context.Context, s *side, b stressPlan, number int) error {
	calm, err := watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, idle))
	if err != nil {
		return err
	}
	var load, wave stream
	loaded, err := watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, func(ctx context.Context) error {
		return load.measure(s, func() error { return load.send(ctx, s, b, scattered(b.existing)) })
	}))
	if err != nil {
		return err
	}
	share := b.floodKeys / b.floodRounds
	from := b.existing + number*share
	flooded, err := watchOthers(ctx, s, b, b.existing, func() error {
		return alongside(ctx, func() error {
			return wave.measure(s, func() error { return wave.send(ctx, s, b, sequential(from, from+share, floodConnections)) })
		}, func(ctx context.Context) error { return f.peak.follow(ctx, s) })
	})
	f.calm, f.loaded, f.flooded = append(f.calm, calm), append(f.loaded, loaded), append(f.flooded, flooded)
	f.load, f.flood = append(f.load, load.cost), append(f.flood, wave.cost)
	f.asked += wave.replies.Load()
	f.refused += wave.refused.Load()
	return err
}

// slower is the ratio of the p99 in the flood to the p99 without, of each round.
func (f floodResult) slower(without []latency) figure {
	var rounds []float64
	for i := range f.flooded {
		rounds = append(rounds, slowdown(without[i], f.flooded[i]))
	}
	return figureOf(rounds)
}

// A stream is a load at a fixed rate, in pipelines.
type stream struct {
	replies, refused atomic.Int64
	cost             sample
}

// measure calls pour and records the rate and the CPU per decision of the server, which
// includes the requests of other clients.
func (t *stream) measure(s *side, pour func() error) error {
	begin := time.Now()
	before, err := s.cpu()
	if err != nil {
		return err
	}
	if err := pour(); err != nil {
		return err
	}
	after, err := s.cpu()
	n := t.replies.Load()
	t.cost.perSecond = float64(n) / time.Since(begin).Seconds()
	t.cost.cpuPerDecision = (after - before) / time.Duration(max(1, n))
	return err
}

// send sends requests at the rate of a flood until there are no more keys or ctx ends.
// A server that does not keep up gets fewer.
func (t *stream) send(ctx context.Context, s *side, b stressPlan, keysOf func(int) func() (int, bool)) error {
	defer moreProcessors(floodConnections)()
	ended := make(chan error, floodConnections)
	for i := range floodConnections {
		go func() { ended <- t.sendOn(ctx, s, b, keysOf(i)) }()
	}
	var failed error
	for range floodConnections {
		if err := <-ended; failed == nil {
			failed = err
		}
	}
	return failed
}

// sendOn is one connection of send.
func (t *stream) sendOn(ctx context.Context, s *side, b stressPlan, next func() (int, bool)) error {
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	var (
		request = newPipeline(s.commands[lastingBucket], floodPipeline)
		seen    replyCounter
		buf     = make([]byte, 64<<10)
		every   = time.Duration(float64(floodConnections*floodPipeline) / float64(b.floodRate) * float64(time.Second))
	)
	for due := time.Now(); ctx.Err() == nil; due = due.Add(every) {
		n := request.fill(next)
		if n == 0 {
			return nil
		}
		if late := time.Since(due); late > 0 {
			due = due.Add(late) // missed requests are not made up for
		}
		sleepUntil(due)
		conn.SetDeadline(time.Now().Add(lastReplyWait))
		if _, err := conn.Write(request.first(n)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		before := seen
		for seen.replies-before.replies < int64(n) {
			got, err := conn.Read(buf)
			if err == nil {
				err = seen.take(buf[:got])
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		t.replies.Add(seen.replies - before.replies)
		t.refused.Add(seen.refused - before.refused)
	}
	return nil
}

const (
	liveLimit = 1000
	// liveBlock is the number of commands on live keys per write.
	liveBlock = 500
)

// liveKey names a key that no load uses, and liveUse is the number of its permits that
// are used.
func liveKey(i int) string { return fmt.Sprintf("live:%d", i) }
func liveUse(i int) int    { return 1 + i%50 }

// useKeys creates n limits, each of which is partly used. A permit is refilled after
// two hours.
func useKeys(s *side, n int) error {
	return askInBlocks(s, n, func(i int) []string {
		return []string{"RL.TOKEN", liveKey(i), fmt.Sprint(liveLimit), fmt.Sprintf("%d/100d", liveLimit), fmt.Sprint(liveUse(i))}
	}, func(i int, reply any) error {
		if !allowed(reply) {
			return fmt.Errorf("%s: the first request was answered %v", liveKey(i), reply)
		}
		return nil
	})
}

// countIntact returns the number of those limits that are unchanged since useKeys.
func countIntact(s *side, n int) (intact int, err error) {
	err = askInBlocks(s, n, func(i int) []string { return []string{"RL.PEEK", liveKey(i)} },
		func(i int, reply any) error {
			if f, ok := reply.([]any); ok && len(f) == 5 && f[1] == int64(liveLimit) && f[2] == int64(liveLimit-liveUse(i)) {
				intact++
			}
			return nil
		})
	return intact, err
}

// askInBlocks sends n commands, in blocks of liveBlock, and calls see with each reply.
func askInBlocks(s *side, n int, command func(int) []string, see func(int, any) error) error {
	c, err := dial(s.address)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	for from := 0; from < n; from += liveBlock {
		var block []byte
		to := min(from+liveBlock, n)
		for i := from; i < to; i++ {
			block = appendCommand(block, command(i)...)
		}
		c.conn.SetDeadline(time.Now().Add(lastReplyWait))
		if _, err := c.conn.Write(block); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			reply, err := c.read()
			if err == nil {
				err = see(i, reply)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
