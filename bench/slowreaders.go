package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A slowness is what clients that ask for much and read nothing do to a server.
type slowness struct {
	readers        int
	writeWait      time.Duration // after which they are to be closed
	closedIn       []time.Duration
	before, during latency // of others
	grown          int64   // resident bytes at most, beyond before
}

// slowRequest has a reply of some hundred KB.
var slowRequest = []string{"COMMAND", "DOCS"}

// slowBlock is how many of them are sent at once.
const slowBlock = 64

// measureSlowReaders has clients come that do not read, one after the other within
// apart or all at once if that is 0, and come again when they are closed.
func measureSlowReaders(ctx context.Context, b besiege, binary string, apart time.Duration) (slowness, error) {
	got := slowness{readers: b.hostile, writeWait: b.writeWait}
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
		err = fmt.Errorf("none of %d was closed within %v, with --write-timeout %v", b.hostile, lasting, b.writeWait)
	}
	return got, err
}

// askAndNotRead sends requests until the server closes the connection, which it
// tells, or ctx ends.
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
	}
}

// longest is after how long the last of them was closed.
func (s slowness) longest() time.Duration { return slices.Max(s.closedIn) }

// perReader is the memory that each took.
func (s slowness) perReader() float64 { return float64(s.grown) / float64(s.readers) }
