package main

import (
	"context"
	"net"
	"time"
)

const (
	// probeEvery is the pause between two probes.
	probeEvery = 200 * time.Microsecond
	// proberKey is a key that no load uses.
	proberKey = 999_999_999_999
)

// probeDuring probes s with one request at a time, for a bucket of its own, during
// work.
func probeDuring(ctx context.Context, s *side, work func() error) (latency, error) {
	var w watcher
	w.open()
	key := func() (int, bool) { return proberKey, true }
	err := alongside(ctx, work, func(ctx context.Context) error { return probe(ctx, s, tokenBucket, key, &w) })
	return w.latency(), err
}

// alongside runs work while others run. When work ends it cancels their context, upon
// which they must return nil, and waits for them. It returns the first error.
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

// probe requests the keys of next, one request at a time on a connection of its own,
// until ctx ends. w records each latency.
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
		w.record(begin, time.Now(), 1)
		<-pace.C
	}
	return nil
}
