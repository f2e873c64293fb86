package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"
)

// A load is the requests to a server: their algorithm, keys, concurrency and rate.
type load struct {
	algorithm    algorithm
	distribution distribution
	connections  int
	pipeline     int // requests per write of a connection
	keys         int
	// rate is the number of requests per second over all connections, sent independently
	// of replies; 0: each connection sends a pipeline when the last one is answered.
	rate float64
	// refusable: the server has a memory bound and may refuse new keys.
	refusable bool
}

// A distribution is the frequency distribution of keys.
type distribution string

const (
	uniform distribution = "uniform"
	zipf    distribution = "zipf"
)

// String names the load in the table, without its number of keys and its rate.
func (l load) String() string {
	return fmt.Sprintf("%s, %s, %d conn, pipeline %d", l.algorithm, l.distribution, l.connections, l.pipeline)
}

// sources returns the source of keys of a connection by its number. A source returns
// false at its end.
type sources func(connection int) func() (key int, ok bool)

// generate loads s with l for the time lasting, or until keysOf has no more keys. The time
// begins when all connections are open.
func (s *side) generate(ctx context.Context, l load, lasting time.Duration, keysOf sources) (outcome, error) {
	conns, err := s.openConns(ctx, l.algorithm, l.pipeline, l.connections)
	if err != nil {
		return outcome{}, err
	}
	defer closeConns(conns)
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	var (
		w     watcher
		begin = time.Now()
	)
	w.open()
	err = runConns(ctx, conns, l, keysOf, &w)
	return w.outcome(time.Since(begin)), err
}

// runLoad loads s with random keys until ctx ends. w records the latency of each request.
func (s *side) runLoad(ctx context.Context, l load, w *watcher) error {
	conns, err := s.openConns(ctx, l.algorithm, l.pipeline, l.connections)
	if err != nil {
		return err
	}
	defer closeConns(conns)
	return runConns(ctx, conns, l, scattered(l.keys), w)
}

// runConns sends l over its connections until ctx ends or keysOf has no more keys. w
// records the latency of each request.
//
// At a fixed rate, each connection sends a pipeline whenever one is due, and latencies
// count from the due time, not from the time of sending, so that requests delayed by a
// stalled server count as waiting.
//
// A connection that waits for its next pipeline sleeps in a system call, which holds a P
// of the Go scheduler for a while, so GOMAXPROCS is raised by one for each: otherwise the
// p99 doubles on a busy machine.
func runConns(ctx context.Context, conns []*loadConn, l load, keysOf sources, w *watcher) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer expire(ctx, conns)()
	every := time.Duration(0)
	if l.rate > 0 {
		every = time.Duration(float64(l.connections*l.pipeline) / l.rate * float64(time.Second))
		defer moreProcessors(min(l.connections, maxSleepers))()
	}
	begin, ended := time.Now(), make(chan error, l.connections)
	for i, c := range conns {
		first := begin.Add(every * time.Duration(i) / time.Duration(l.connections))
		go func() { ended <- c.run(ctx, l, keysOf(i), first, every, w) }()
	}
	var failed error
	for range conns {
		if err := <-ended; err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	return failed
}

// maxSleepers is the highest number of connections that sleep in a system call at once.
const maxSleepers = 64

// run is one connection of runConns. The first pipeline is due at due, the next ones at
// intervals of every; if that is 0, each is due when the last one is answered.
func (c *loadConn) run(ctx context.Context, l load, next func() (int, bool), due time.Time, every time.Duration, w *watcher) error {
	for ; ctx.Err() == nil; due = due.Add(every) {
		n := c.request.fill(next)
		if n == 0 {
			return nil
		}
		if every == 0 {
			due = time.Now()
		}
		if early := time.Until(due) - wakeAhead; early > 0 && sleep(ctx, early) != nil {
			return nil
		}
		sleepUntil(due)
		refused, err := c.ask(n)
		if err == nil && refused > 0 && !l.refusable {
			err = fmt.Errorf("%s: %d requests were refused for lack of memory", c.side.name, refused)
		}
		if err != nil {
			return err
		}
		w.record(due, time.Now(), n, refused)
	}
	return nil
}

// wakeAhead is the part of a wait that a connection spends in sleepUntil. It is longer
// than the lateness of the Go timer.
const wakeAhead = 2 * time.Millisecond

// A loadConn is a connection that sends pipelines of one command.
type loadConn struct {
	side    *side
	conn    net.Conn
	request *pipeline
	lines   int // of a reply
	buf     []byte
}

// openConns opens n connections to s, one after the other.
func (s *side) openConns(ctx context.Context, a algorithm, pipeline, n int) (conns []*loadConn, err error) {
	for range n {
		conn, err := s.connect()
		if err == nil && ctx.Err() != nil {
			conn.Close()
			err = context.Cause(ctx)
		}
		if err != nil {
			closeConns(conns)
			return nil, fmt.Errorf("connection %d of %d: %w", len(conns)+1, n, err)
		}
		conns = append(conns, &loadConn{
			side: s, conn: conn, request: newPipeline(s.commands[a], pipeline), lines: s.replyLines[a], buf: make([]byte, min(64, pipeline)<<10),
		})
	}
	return conns, nil
}

// expire makes requests fail lastReplyWait after ctx has ended, unless stop is called.
func expire(ctx context.Context, conns []*loadConn) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		for _, c := range conns {
			c.conn.SetDeadline(time.Now().Add(lastReplyWait))
		}
	})
}

func closeConns(conns []*loadConn) {
	for _, c := range conns {
		c.conn.Close()
	}
}

// ask sends the first n commands of the pipeline and waits for the replies.
func (c *loadConn) ask(n int) (refused int, err error) {
	if _, err = c.conn.Write(c.request.first(n)); err == nil {
		refused, err = readReplies(c.conn, c.buf, n, c.lines)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.side.name, err)
	}
	return refused, err
}

// lastReplyWait bounds the wait for outstanding replies at the end of a run.
const lastReplyWait = 10 * time.Second

// outOfMemory begins the one error reply that readReplies counts.
const outOfMemory = "-OOM"

// readReplies reads n replies, each of so many lines, or of one if it is an error for lack
// of memory. It returns the number of these. Any other error reply is returned as an
// error. It counts line ends instead of parsing.
func readReplies(conn net.Conn, buf []byte, n, lines int) (refused int, err error) {
	kept, startsLine := 0, true // kept is the length of the first bytes of an error, in buf
	for left := n * lines; left != 0; {
		size, err := conn.Read(buf[kept:])
		if err != nil {
			return refused, err
		}
		got := buf[:kept+size]
		left -= bytes.Count(got, []byte("\n"))
		rest := got
		if kept == 0 && !startsLine {
			rest = afterLine(rest)
		}
		startsLine = got[len(got)-1] == '\n'
		for kept = 0; len(rest) > 0; rest = afterLine(rest) {
			if rest[0] != '-' {
				at := bytes.Index(rest, []byte("\n-"))
				if at < 0 {
					break
				}
				rest = rest[at+1:]
			}
			if len(rest) < len(outOfMemory) {
				kept = copy(buf, rest)
				break
			}
			if string(rest[:len(outOfMemory)]) != outOfMemory {
				return refused, fmt.Errorf("error reply: %q", rest[:min(len(rest), 200)])
			}
			refused++
			left -= lines - 1
		}
		if left < 0 {
			return refused, fmt.Errorf("received %d surplus lines", -left)
		}
	}
	return refused, nil
}

// afterLine returns the bytes after the first line end.
func afterLine(b []byte) []byte {
	if at := bytes.IndexByte(b, '\n'); at >= 0 {
		return b[at+1:]
	}
	return nil
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
