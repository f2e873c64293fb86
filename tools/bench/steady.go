package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// runSteady requests l.keys of s at a fixed rate until ctx ends, independently of
// replies. perSecond is the total rate of requests over all connections.
//
// Each connection sends a pipeline whenever one is due. w records latencies from the
// due time, not from the time of sending, so that requests delayed by a stalled server
// count as waiting.
//
// Each connection sleeps in a system call, which holds a P of the Go scheduler for a
// while, so GOMAXPROCS is raised by one for each: otherwise the p99 doubles on a busy
// machine.
func runSteady(ctx context.Context, s *side, l load, perSecond float64, w *watcher) error {
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
		go func() { ended <- runSteadyConnection(ctx, s, l, scattered(l.keys)(i), first, every, w) }()
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

// moreProcessors raises GOMAXPROCS by n until fewer is called.
func moreProcessors(n int) (fewer func()) {
	change := func(n int) {
		processorsLock.Lock()
		defer processorsLock.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	}
	change(n)
	return func() { change(-n) }
}

// runSteadyConnection is one connection of runSteady: the first pipeline is due at due,
// the next ones at intervals of every.
func runSteadyConnection(
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
		w.record(due, time.Now(), int64(n))
	}
	return nil
}

// scattered returns infinite sources of random keys 0..keys-1, for each connection the
// same in every run.
func scattered(keys int) func(int) func() (int, bool) {
	return func(connection int) func() (int, bool) {
		random := rand.New(rand.NewPCG(uint64(keys), uint64(connection)))
		return func() (int, bool) { return random.IntN(keys), true }
	}
}
