package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A slowReaderResult is the effect of clients that request much and read nothing.
type slowReaderResult struct {
	readers        int
	writeWait      time.Duration // after which the server must close them
	closedIn       []time.Duration
	before, during latency // of other clients
	grown          int64   // increase of resident bytes at the peak
}

// slowRequest has a reply of some hundred KB.
var slowRequest = []string{"COMMAND", "DOCS"}

const (
	// slowBlock is the number of requests per write: more replies than sockets take.
	slowBlock = 64
	// slowPause is the pause after each write. Without it the clients fill their sockets
	// with requests for hundreds of milliseconds, in which the measured clients, in the
	// same process, wait for a processor and not for the server.
	slowPause = 5 * time.Millisecond
)

// measureSlowReaders connects clients that do not read, staggered over apart, or
// simultaneously if apart is 0. They reconnect when they are closed.
func measureSlowReaders(ctx context.Context, b stressPlan, binary string, apart time.Duration) (slowReaderResult, error) {
	got := slowReaderResult{readers: b.hostile, writeWait: b.writeWait}
	s, before, resident, err := b.begin(ctx, binary)
	if err != nil {
		return got, err
	}
	defer s.stop()
	got.before = before
	var (
		lock sync.Mutex
		peak memoryPeak
	)
	lasting := b.watch + 3*b.writeWait
	got.during, err = watchOthers(ctx, s, b, b.existing, during(ctx, lasting, func(ctx context.Context) error {
		var wait sync.WaitGroup
		for i := range b.hostile {
			wait.Go(func() {
				sleep(ctx, apart*time.Duration(i)/time.Duration(b.hostile))
				for ctx.Err() == nil {
					begin := time.Now()
					if askAndNotRead(ctx, s) {
						lock.Lock()
						got.closedIn = append(got.closedIn, time.Since(begin))
						lock.Unlock()
					}
				}
			})
		}
		err := peak.follow(ctx, s)
		wait.Wait()
		return err
	}))
	got.grown = peak.resident - resident
	if err == nil && len(got.closedIn) == 0 {
		err = fmt.Errorf("none of %d clients was closed within %v, with --write-timeout %v", b.hostile, lasting, b.writeWait)
	}
	return got, err
}

// askAndNotRead sends requests until the server closes the connection, in which case it
// returns true, or ctx ends.
func askAndNotRead(ctx context.Context, s *side) (closed bool) {
	conn, err := s.connect()
	if err != nil {
		sleep(ctx, retryAfter)
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	block := slices.Repeat(appendCommand(nil, slowRequest...), slowBlock)
	for {
		if _, err := conn.Write(block); err != nil {
			return ctx.Err() == nil
		}
		sleep(ctx, slowPause)
	}
}

// longest returns the longest time until a client was closed.
func (s slowReaderResult) longest() time.Duration { return slices.Max(s.closedIn) }

// perReader returns the memory used per client.
func (s slowReaderResult) perReader() float64 { return float64(s.grown) / float64(s.readers) }
