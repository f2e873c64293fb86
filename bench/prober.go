package main

import (
	"context"
	"net"
	"time"
)

const (
	// probeEvery is the rest between two probes.
	probeEvery = 200 * time.Microsecond
	// proberKey is a key that no load asks for.
	proberKey = 999_999_999_999
)

// probeDuring sends s one request at a time for a bucket of the prober's own
// while work is done.
func probeDuring(ctx context.Context, s *side, work func() error) (latency, error) {
	var w watcher
	w.open()
	key := func() (int, bool) { return proberKey, true }
	err := alongside(ctx, work, func(ctx context.Context) error { return probe(ctx, s, tokenBucket, key, &w) })
	return w.latency(), err
}

// alongside does work while the others run, which are to return nil once their
// context ends; that is when work is done. The first error counts.
func alongside(ctx context.Context, work func() error, others ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(others))
	for _, other := range others {
		go func() { ended <- other(ctx) }()
	}
	err := work()
	cancel()
	for range others {
		if otherErr := <-ended; err == nil {
			err = otherErr
		}
	}
	return err
}

// probe asks for one key of next after the other until ctx ends, one request at
// a time on a connection of its own, and w sees each.
func probe(ctx context.Context, s *side, a algorithm, next func() (int, bool), w *watcher) error {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now().Add(lastReplyWait)) })()
	var (
		request = newPipeline(s.commands[a], 1)
		buf     = make([]byte, 4096)
		pace    = time.NewTicker(probeEvery)
	)
	defer pace.Stop()
	for ctx.Err() == nil && request.fill(next) == 1 {
		begin := time.Now()
		if _, err := conn.Write(request.first(1)); err != nil {
			return err
		}
		if err := readLines(conn, buf, s.replyLines[a]); err != nil {
			return err
		}
		w.saw(begin, time.Now(), 1)
		<-pace.C
	}
	return nil
}
