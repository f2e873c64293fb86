package main

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// probeEvery is the pause between two probes.
	probeEvery = 200 * time.Microsecond
	// proberKey is a key that no load uses.
	proberKey = 999_999_999_999
)

// probeDuring loads s, and probes it with one request at a time, for a bucket of its own.
func (s *side) probeDuring(ctx context.Context, l load, lasting time.Duration,
	keysOf sources) (o outcome, seen latency, err error) {
	var w watcher
	w.open()
	key := func() (int, bool) { return proberKey, true }
	err = alongside(ctx, func() error { o, err = s.generate(ctx, l, lasting, keysOf); return err },
		func(ctx context.Context) error { return s.probe(ctx, l.algorithm, key, &w) })
	return o, w.latency(), err
}

// alongside runs work together with the functions in others. When work ends, it cancels
// their context and waits for them; they must then return nil. It returns the first error.
func alongside(ctx context.Context, work func() error, others ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running errgroup.Group
	for _, other := range others {
		running.Go(func() error { return other(ctx) })
	}
	err := work()
	cancel()
	return cmp.Or(err, running.Wait())
}

// probe requests the keys of next, one request at a time on a connection of its own, until
// ctx ends. w records each latency.
func (s *side) probe(ctx context.Context, a algorithm, next func() (int, bool), w *watcher) error {
	conns, err := s.openConns(ctx, a, 1, 1)
	if err != nil {
		return err
	}
	defer closeConns(conns)
	defer expire(ctx, conns)()
	c, pace := conns[0], time.NewTicker(probeEvery)
	defer pace.Stop()
	for ctx.Err() == nil && c.request.fill(next) == 1 {
		begin := time.Now()
		if _, err := c.ask(1); err != nil {
			return err
		}
		w.record(begin, time.Now(), 1, 0)
		<-pace.C
	}
	return nil
}
