package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"limitsrv/internal/pace"
)

// A ratedLoad sends pipelines at a fixed rate, over its connections in turn. All of it runs
// on a single thread. A goroutine and a sleep for each connection would take several times
// the processor time, and the server on the same machine would wait for it.
//
// Latencies count from the due time, not from the time of sending, so that requests delayed
// by a stalled server count as waiting: a pipeline that is due while its connection waits for
// replies is sent after them.
//
// Concurrency: not safe for concurrent use.
type ratedLoad struct {
	load    load
	seen    *watcher
	sockets *sockets
	conns   []ratedConn
	begin   time.Time
	every   time.Duration // between two pipelines of a connection
	// inFlight is the number of connections that wait for replies, and sources the number
	// of those that have more keys.
	inFlight, sources int
	ended             bool // nothing more is sent
}

// A ratedConn is a connection of a ratedLoad.
type ratedConn struct {
	*loadConn
	next    func() (int, bool) // nil after the last key
	due     time.Time          // of the pipeline in flight, or else of the next pipeline
	sent    int                // requests in flight
	replies replyCount         // to them
	owed    int                // pipelines that are due, to be sent after these replies
}

// runAtRate sends l at its rate until ctx ends or keysOf has no more keys, and waits for the
// replies. w records the latency of each request.
//
// The thread waits in a system call that the Go scheduler does not see, so GOMAXPROCS is
// raised by one meanwhile.
func runAtRate(ctx context.Context, conns []*loadConn, l load, keysOf sources, w *watcher) error {
	s, err := newSockets(conns)
	if err != nil {
		return err
	}
	defer s.close()
	defer pace.AddProcessors(1)()
	r := &ratedLoad{
		load: l, seen: w, sockets: s, sources: len(conns),
		every: time.Duration(float64(len(conns)*l.pipeline) / l.rate * float64(time.Second)),
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		preciseTimers()
		r.begin = time.Now()
		for i, c := range conns {
			r.conns = append(r.conns, ratedConn{loadConn: c, next: keysOf(i), due: r.dueAt(i)})
		}
		done <- r.run(ctx)
	}()
	return <-done
}

// dueAt returns the due time of a turn: connection turn % n sends in turn.
func (r *ratedLoad) dueAt(turn int) time.Time {
	n := len(r.sockets.conns)
	return r.begin.Add(r.every*time.Duration(turn/n) + r.every*time.Duration(turn%n)/time.Duration(n))
}

// maxReceiveWait is the longest time until run sees that its context has ended.
const maxReceiveWait = 10 * time.Millisecond

// run sends pipelines and takes replies until ctx has ended, or no keys are left, and all
// replies have arrived. Replies that are missing lastReplyWait after that are an error.
func (r *ratedLoad) run(ctx context.Context) error {
	var deadline time.Time
	for turn := 0; ; {
		now := time.Now()
		if !r.ended && (r.sources == 0 || ctx.Err() != nil) {
			r.ended, deadline = true, now.Add(lastReplyWait)
		}
		if r.ended && (r.inFlight == 0 || now.After(deadline)) {
			return r.unanswered()
		}
		until := now.Add(maxReceiveWait)
		for !r.ended {
			due := r.dueAt(turn)
			if wait := due.Sub(now); wait > 0 {
				until = now.Add(min(wait, maxReceiveWait))
				break
			}
			if err := r.sendDue(turn % len(r.conns)); err != nil {
				return err
			}
			turn++
		}
		if err := r.sockets.receive(until, r.received); err != nil {
			return err
		}
	}
}

// unanswered returns an error if replies are missing.
func (r *ratedLoad) unanswered() error {
	if r.inFlight == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d connections miss replies after %v", r.conns[0].side.name, r.inFlight, lastReplyWait)
}

// sendDue sends the next pipeline of connection i, or notes that it is due.
func (r *ratedLoad) sendDue(i int) error {
	c := &r.conns[i]
	switch {
	case c.next == nil:
		return nil
	case c.sent > 0:
		c.owed++
		return nil
	}
	n := c.request.fill(c.next)
	if n == 0 {
		c.next = nil
		r.sources--
		return nil
	}
	c.sent, c.replies = n, expect(n, c.lines)
	r.inFlight++
	return c.failed(r.sockets.send(i, c.request.first(n)))
}

// received takes the next bytes of replies to connection i, or the error of reading them.
func (r *ratedLoad) received(i int, got []byte, err error) error {
	c := &r.conns[i]
	if err == nil {
		err = c.replies.add(got)
	}
	if err != nil || c.replies.left > 0 {
		return c.failed(err)
	}
	if err := c.acceptable(r.load, c.replies.refused); err != nil {
		return err
	}
	r.seen.record(c.due, time.Now(), c.sent, c.replies.refused)
	c.sent, c.due = 0, c.due.Add(r.every)
	r.inFlight--
	if c.owed == 0 || r.ended {
		return nil
	}
	c.owed--
	return r.sendDue(i)
}
