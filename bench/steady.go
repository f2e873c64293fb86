package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// hold asks s for l.keys at a fixed rate until ctx ends, however fast it answers.
//
// Each connection sends a pipeline whenever one is due; w sees its requests wait
// from then, not from when it was sent: what a stalled server keeps a client from
// sending counts as waiting, as it does for whoever wanted to send it. perSecond
// is of requests, over all connections.
//
// Each connection sleeps in a system call, which keeps a processor of the Go
// scheduler for a while, so each gets one more: without, a busy machine doubles
// what the slowest hundredth waits.
func hold(ctx context.Context, s *side, l load, perSecond float64, w *watcher) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer moreProcessors(l.connections)()
	var (
		every = time.Duration(float64(l.connections*l.pipeline) / perSecond * float64(time.Second))
		begin = time.Now()
		ended = make(chan error, l.connections)
	)
	for i := range l.connections {
		first := begin.Add(every * time.Duration(i) / time.Duration(l.connections))
		go func() { ended <- holdOne(ctx, s, l, scattered(l.keys)(i), first, every, w) }()
	}
	var failed error
	for range l.connections {
		if err := <-ended; err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	return failed
}

var processorsLock sync.Mutex

// moreProcessors gives the Go scheduler n processors more until the function that it
// returns is called.
func moreProcessors(n int) (fewer func()) {
	change := func(n int) {
		processorsLock.Lock()
		defer processorsLock.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	}
	change(n)
	return func() { change(-n) }
}

// holdOne is one connection of hold: a pipeline is due at due, and from then on
// one every so often.
func holdOne(
	ctx context.Context, s *side, l load, next func() (int, bool), due time.Time, every time.Duration, w *watcher,
) error {
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now().Add(lastReplyWait)) })()
	var (
		request = newPipeline(s.commands[l.algorithm], l.pipeline)
		lines   = s.replyLines[l.algorithm]
		buf     = make([]byte, 64<<10)
	)
	for ; ctx.Err() == nil; due = due.Add(every) {
		n := request.fill(next)
		sleepUntil(due)
		if _, err := conn.Write(request.first(n)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := readLines(conn, buf, n*lines); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		w.saw(due, time.Now(), int64(n))
	}
	return nil
}

// scattered makes sources that never end and draw from 0..keys-1, each connection
// the same ones in every run.
func scattered(keys int) func(int) func() (int, bool) {
	return func(connection int) func() (int, bool) {
		random := rand.New(rand.NewPCG(uint64(keys), uint64(connection)))
		return func() (int, bool) { return random.IntN(keys), true }
	}
}
