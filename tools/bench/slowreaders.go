package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"limitsrv/internal/respclient"
)

// slowRequest has a reply of some hundred KB.
var slowRequest = []string{"COMMAND", "DOCS"}

const (
	// slowBlock is the number of requests per write: more replies than sockets take.
	slowBlock = 64
	// slowPause is the pause after each write. Without it the clients fill their sockets
	// with requests for hundreds of milliseconds. Meanwhile the measured clients, in the
	// same process, would wait for a processor and not for the server.
	slowPause = 5 * time.Millisecond
)

// wantSlowAtOnceP99 is the p99 of other clients that meets the goal.
const wantSlowAtOnceP99 = 5 * time.Millisecond

// A slowReaderResult is the effect of clients that request much and read nothing.
type slowReaderResult struct {
	disturbance
	closedIn []time.Duration // times until a connection was closed
}

// slowReaders measures clients that do not read: staggered, and simultaneous.
func slowReaders(ctx context.Context, e *env) error {
	staggered, err := e.measureSlowReaders(ctx, e.stress.writeWait)
	if err != nil {
		return fmt.Errorf("clients that do not read: %w", err)
	}
	e.stop()
	atOnce, err := e.measureSlowReaders(ctx, 0)
	if err != nil {
		return fmt.Errorf("clients that do not read, simultaneous: %w", err)
	}
	e.addSlowReaders(staggered, atOnce)
	return nil
}

// addSlowReaders adds the rows on clients that do not read.
func (e *env) addSlowReaders(staggered, atOnce slowReaderResult) {
	b := e.stress
	text := func(r slowReaderResult) string {
		return fmt.Sprintf("%d closed within %s (--write-timeout %s), %.0f KB each; other clients %s", len(r.closedIn),
			secondsText(slices.Max(r.closedIn).Seconds()), secondsText(b.writeWait.Seconds()),
			float64(r.grown)/float64(b.hostile)/1024, r.p99Text())
	}
	e.addStress(fmt.Sprintf("%d clients that do not read their replies", b.hostile),
		check{"closed", slices.Max(staggered.closedIn) < 2*b.writeWait+time.Second}, text(staggered), "")
	e.addStress(fmt.Sprintf("%d clients that request %s simultaneously and do not read: p99 of others", b.hostile,
		strings.Join(slowRequest, " ")),
		check{"below " + millisText(wantSlowAtOnceP99), atOnce.during.p99 < wantSlowAtOnceP99}, text(atOnce), "")
}

// measureSlowReaders connects clients that do not read, staggered over apart, or
// simultaneously if apart is 0. They reconnect when they are closed.
func (e *env) measureSlowReaders(ctx context.Context, apart time.Duration) (got slowReaderResult, err error) {
	b := e.stress
	s, err := e.startFilled(ctx, limitsrv, "", "--write-timeout", b.writeWait.String())
	if err != nil {
		return got, err
	}
	var (
		lock    sync.Mutex
		lasting = b.watch + 3*b.writeWait
	)
	got.disturbance, err = b.disturb(ctx, s, func() error {
		runClients(ctx, b.hostile, lasting, func(ctx context.Context, i int) {
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
		return nil
	})
	if err == nil && len(got.closedIn) == 0 {
		err = fmt.Errorf("none of %d clients was closed within %v, with --write-timeout %v", b.hostile, lasting, b.writeWait)
	}
	return got, err
}

// askAndNotRead sends requests until the server closes the connection or ctx ends. closed
// reports that the server closed it.
func askAndNotRead(ctx context.Context, s *side) (closed bool) {
	conn, err := s.connect()
	if err != nil {
		sleep(ctx, retryAfter)
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	block := slices.Repeat(respclient.AppendCommand(nil, slowRequest...), slowBlock)
	for {
		if _, err := conn.Write(block); err != nil {
			return ctx.Err() == nil
		}
		sleep(ctx, slowPause)
	}
}
