package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// A clientScaling compares one side with few and with many connections.
type clientScaling struct {
	few, many  []sample // each connection sends its next request after a reply
	fewAtRate  latency  // at the same fixed rate
	manyAtRate latency
}

// fewConnections is the baseline number of connections.
const fewConnections = 50

// measureClientScaling measures both sides in alternating rounds.
func measureClientScaling(
	ctx context.Context, o options, starts []func() (*side, error), say func(string, ...any),
) ([]clientScaling, error) {
	var (
		all   = make([]clientScaling, len(starts))
		sides []*side
	)
	for _, start := range starts {
		s, err := start()
		if err != nil {
			return nil, err
		}
		defer s.stop()
		if _, err := fill(ctx, s, tokenBucket, o.stress.existing); err != nil {
			return nil, err
		}
		sides = append(sides, s)
	}
	for range o.rounds {
		for i, s := range sides {
			c := &all[i]
			for _, m := range []struct {
				connections int
				to          *[]sample
			}{{fewConnections, &c.few}, {o.stress.connections, &c.many}} {
				got, err := o.stress.runSaturated(ctx, s, m.connections)
				if err != nil {
					return nil, err
				}
				*m.to = append(*m.to, got)
			}
		}
	}
	for i, s := range sides {
		c := &all[i]
		var err error
		if c.fewAtRate, err = o.stress.runAtRate(ctx, s, fewConnections); err != nil {
			return nil, err
		}
		if c.manyAtRate, err = o.stress.runAtRate(ctx, s, o.stress.connections); err != nil {
			return nil, err
		}
		say("%s, %d connections over %d: %.2fx the decisions, p99 at the same rate %v and %v",
			s.name, o.stress.connections, fewConnections, c.speedRatio().median, c.manyAtRate.p99, c.fewAtRate.p99)
	}
	return all, nil
}

// speedRatio is the speed with many connections relative to few.
func (c clientScaling) speedRatio() figure {
	return figureOf(ratios(column(c.many, perSecond), column(c.few, perSecond)))
}

// runSaturated lets each connection send requests as fast as they are answered.
func (b stressPlan) runSaturated(ctx context.Context, s *side, connections int) (sample, error) {
	m := meter{side: s, load: load{tokenBucket, uniform, connections, 1, b.existing}, lasting: b.watch}
	if err := m.warm(ctx); err != nil {
		return sample{}, err
	}
	return m.measure(ctx)
}

// runAtRate sends requests over all connections in turn, at the rate of b in total.
func (b stressPlan) runAtRate(ctx context.Context, s *side, connections int) (latency, error) {
	conns, err := connectMany(ctx, s, connections)
	if err != nil {
		return latency{}, err
	}
	defer closeAll(conns)
	var w watcher
	w.open()
	ctx, cancel := context.WithTimeout(ctx, b.watch)
	defer cancel()
	err = callInTurns(ctx, s, conns, load{algorithm: tokenBucket, keys: b.existing}, float64(b.rate), &w)
	return w.latency(), err
}

const (
	// callers is the number of sending goroutines for all connections.
	callers = 2
	// callsAhead is the maximum number of unanswered requests per connection.
	callsAhead = 16
)

// callInTurns sends requests at a fixed rate over one connection after the other,
// independently of replies, until ctx ends. w records the latency of each from its due
// time.
func callInTurns(ctx context.Context, s *side, conns []net.Conn, l load, perSecond float64, w *watcher) error {
	defer moreProcessors(callers)() // see runSteady
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		all            []*caller
		sending, reads sync.WaitGroup
		every          = time.Duration(callers / perSecond * float64(time.Second))
		begin          = time.Now()
	)
	for _, conn := range conns {
		c := &caller{conn: conn, due: make(chan time.Time, callsAhead), lines: s.replyLines[l.algorithm]}
		all = append(all, c)
		reads.Go(func() {
			if err := c.read(w); err != nil {
				cancel(fmt.Errorf("%s: %w", s.name, err))
			}
		})
	}
	for i := range callers {
		var own []*caller
		for at := i; at < len(all); at += callers {
			own = append(own, all[at])
		}
		first := begin.Add(every * time.Duration(i) / callers)
		request, next := newPipeline(s.commands[l.algorithm], 1), scattered(l.keys)(i)
		sending.Go(func() {
			for at, due := 0, first; ctx.Err() == nil; at, due = at+1, due.Add(every) {
				request.fill(next)
				sleepUntil(due)
				if err := own[at%len(own)].ask(ctx, due, request.first(1)); err != nil {
					cancel(fmt.Errorf("%s: %w", s.name, err))
				}
			}
		})
	}
	sending.Wait()
	for _, c := range all {
		c.conn.SetDeadline(time.Now().Add(lastReplyWait))
		close(c.due)
	}
	reads.Wait()
	if cause := context.Cause(ctx); cause != nil && cause != context.DeadlineExceeded {
		return cause
	}
	return nil
}

// A caller is one connection of callInTurns.
type caller struct {
	conn  net.Conn
	due   chan time.Time // due times of the unanswered requests
	lines int            // of a reply
}

// ask sends a request that was due at due.
func (c *caller) ask(ctx context.Context, due time.Time, request []byte) error {
	select {
	case c.due <- due:
	case <-ctx.Done():
		return nil
	}
	_, err := c.conn.Write(request)
	return err
}

// read reads replies until due is closed and every request is answered.
func (c *caller) read(w *watcher) error {
	var (
		buf  [512]byte
		seen int
	)
	for due := range c.due {
		for seen < c.lines {
			n, err := c.conn.Read(buf[:])
			if err != nil {
				return err
			}
			if buf[0] == '-' {
				return fmt.Errorf("answered an error: %q", buf[:n])
			}
			seen += bytes.Count(buf[:n], []byte("\n"))
		}
		seen -= c.lines
		w.record(due, time.Now(), 1)
	}
	return nil
}
