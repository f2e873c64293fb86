package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// A crowding is how one side fares with few connections and with many.
type crowding struct {
	few, many  []sample // each asks again as soon as it is answered
	fewAtRate  latency  // decisions come at the same rate
	manyAtRate latency
}

// fewConnections is what many are held against.
const fewConnections = 50

// measureCrowds loads each side in turn.
func measureCrowds(
	ctx context.Context, o options, starts []func() (*side, error), say func(string, ...any),
) ([]crowding, error) {
	var (
		all   = make([]crowding, len(starts))
		sides []*side
	)
	for _, start := range starts {
		s, err := start()
		if err != nil {
			return nil, err
		}
		defer s.stop()
		if _, err := fill(ctx, s, tokenBucket, o.siege.existing); err != nil {
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
			}{{fewConnections, &c.few}, {o.siege.connections, &c.many}} {
				got, err := o.siege.rush(ctx, s, m.connections)
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
		if c.fewAtRate, err = o.siege.visit(ctx, s, fewConnections); err != nil {
			return nil, err
		}
		if c.manyAtRate, err = o.siege.visit(ctx, s, o.siege.connections); err != nil {
			return nil, err
		}
		say("%s, %d connections over %d: %.2fx the decisions, p99 at the same rate %v and %v",
			s.name, o.siege.connections, fewConnections, c.kept().median, c.manyAtRate.p99, c.fewAtRate.p99)
	}
	return all, nil
}

// kept is what of its speed the side has with many connections.
func (c crowding) kept() figure {
	return figureOf(ratios(column(c.many, perSecond), column(c.few, perSecond)))
}

// rush has so many connections ask as fast as they are answered.
func (b besiege) rush(ctx context.Context, s *side, connections int) (sample, error) {
	m := meter{side: s, load: load{tokenBucket, uniform, connections, 1, b.existing}, lasting: b.watch}
	if err := m.warm(ctx); err != nil {
		return sample{}, err
	}
	return m.measure(ctx)
}

// visit has so many connections ask in turns, at the rate of b in all.
func (b besiege) visit(ctx context.Context, s *side, connections int) (latency, error) {
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
	// callers is how many goroutines send for all connections.
	callers = 2
	// callsAhead is how many requests of a connection may wait for their replies.
	callsAhead = 16
)

// callInTurns asks s at a fixed rate over one connection after the other, however
// fast it answers, until ctx ends. w sees each request wait from when it was due.
func callInTurns(ctx context.Context, s *side, conns []net.Conn, l load, perSecond float64, w *watcher) error {
	defer moreProcessors(callers)() // see hold
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
	due   chan time.Time // of what it has asked for and not seen answered
	lines int            // of a reply
}

// ask sends a request that was due at some time.
func (c *caller) ask(ctx context.Context, due time.Time, request []byte) error {
	select {
	case c.due <- due:
	case <-ctx.Done():
		return nil
	}
	_, err := c.conn.Write(request)
	return err
}

// read reads the replies until due is closed and all are there.
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
		w.saw(due, time.Now(), 1)
	}
	return nil
}
