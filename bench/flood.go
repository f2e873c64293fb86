package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A flooding is what a flood of distinct keys did to a server that has a bound of
// memory.
type flooding struct {
	policy string // --on-full
	bound  int64  // --max-memory, in bytes
	// How long decisions on keys that were there before wait, round by round:
	// without any load, under a load of such keys, and under the flood, which is
	// of the same rate.
	calm, loaded, flooded []latency
	load, flood           []sample // what they cost the server
	asked, refused        int64    // of the flood
	peak                  memoryPeak
	live, intact          int // keys that nobody touched, and those as they were left
}

const (
	// floodConnections and floodPipeline are those of the flood and of the load
	// that it is held against.
	floodConnections = 2
	floodPipeline    = 64
)

// measureFlood floods a limitsrv with keys, round by round.
func measureFlood(ctx context.Context, b besiege, binary, policy string, say func(string, ...any)) (flooding, error) {
	f := flooding{policy: policy, bound: int64(b.floodMemory) << 20, live: b.live}
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

// round measures the three once, with one part of the flood's keys.
func (f *flooding) round(ctx context.Context, s *side, b besiege, number int) error {
	calm, err := watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, pass))
	if err != nil {
		return err
	}
	var load, wave stream
	loaded, err := watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, func(ctx context.Context) error {
		return load.measure(s, func() error { return load.pour(ctx, s, b, scattered(b.existing)) })
	}))
	if err != nil {
		return err
	}
	share := b.floodKeys / b.floodRounds
	from := b.existing + number*share
	flooded, err := watchOthers(ctx, s, b, b.existing, func() error {
		return alongside(ctx, func() error {
			return wave.measure(s, func() error { return wave.pour(ctx, s, b, sequential(from, from+share, floodConnections)) })
		}, func(ctx context.Context) error { return f.peak.follow(ctx, s) })
	})
	f.calm, f.loaded, f.flooded = append(f.calm, calm), append(f.loaded, loaded), append(f.flooded, flooded)
	f.load, f.flood = append(f.load, load.cost), append(f.flood, wave.cost)
	f.asked += wave.replies.Load()
	f.refused += wave.refused.Load()
	return err
}

// slower is how much longer the slowest hundredth waits in the flood than without,
// round by round.
func (f flooding) slower(without []latency) figure {
	var rounds []float64
	for i := range f.flooded {
		rounds = append(rounds, slowdown(without[i], f.flooded[i]))
	}
	return figureOf(rounds)
}

// A stream is many requests at a fixed rate, in pipelines.
type stream struct {
	replies, refused atomic.Int64
	cost             sample
}

// measure has pour called and tells what it cost the server, with what others ask.
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

// pour sends requests at the rate of a flood until there are no more keys, or ctx
// ends. A server that does not keep up is asked more slowly.
func (t *stream) pour(ctx context.Context, s *side, b besiege, keysOf func(int) func() (int, bool)) error {
	defer moreProcessors(floodConnections)()
	ended := make(chan error, floodConnections)
	for i := range floodConnections {
		go func() { ended <- t.pourOne(ctx, s, b, keysOf(i)) }()
	}
	var failed error
	for range floodConnections {
		if err := <-ended; failed == nil {
			failed = err
		}
	}
	return failed
}

// pourOne is one connection of pour.
func (t *stream) pourOne(ctx context.Context, s *side, b besiege, next func() (int, bool)) error {
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	var (
		request = newPipeline(s.commands[lastingBucket], floodPipeline)
		seen    tally
		buf     = make([]byte, 64<<10)
		every   = time.Duration(float64(floodConnections*floodPipeline) / float64(b.floodRate) * float64(time.Second))
	)
	for due := time.Now(); ctx.Err() == nil; due = due.Add(every) {
		n := request.fill(next)
		if n == 0 {
			return nil
		}
		if late := time.Since(due); late > 0 {
			due = due.Add(late) // what could not be sent is not made up for
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
	// liveBlock is how many commands on live keys are sent at once.
	liveBlock = 500
)

// liveKey is a key that nobody else asks for, and liveUse what of it is used.
func liveKey(i int) string { return fmt.Sprintf("live:%d", i) }
func liveUse(i int) int    { return 1 + i%50 }

// useKeys makes so many limits, each of which is used in part. A permit comes back
// after two hours.
func useKeys(s *side, n int) error {
	return askInBlocks(s, n, func(i int) []string {
		return []string{"RL.TOKEN", liveKey(i), fmt.Sprint(liveLimit), fmt.Sprintf("%d/100d", liveLimit), fmt.Sprint(liveUse(i))}
	}, func(i int, reply any) error {
		if !allowed(reply) {
			return fmt.Errorf("%s: its first request is answered %v", liveKey(i), reply)
		}
		return nil
	})
}

// countIntact is how many of those limits are as useKeys left them.
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

// askInBlocks asks n commands, many at a time, and shows each reply.
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
