package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
)

// A load is the requests to a server: their algorithm, keys, concurrency and rate.
type load struct {
	algorithm    algorithm
	distribution distribution
	connections  int
	pipeline     int // requests per write of a connection
	keys         int
	// rate is the number of requests per second over all connections, sent independently of
	// replies; 0: each connection sends a pipeline when the last pipeline is answered.
	rate float64
	// refusable: requests may fail, because the server has a memory bound or its leader may
	// change.
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
func runConns(ctx context.Context, conns []*loadConn, l load, keysOf sources, w *watcher) error {
	if l.rate > 0 {
		return runAtRate(ctx, conns, l, keysOf, w)
	}
	group, ctx := errgroup.WithContext(ctx)
	defer expire(ctx, conns)()
	for i, c := range conns {
		group.Go(func() error { return c.run(ctx, l, keysOf(i), w) })
	}
	return group.Wait()
}

// run sends a pipeline whenever the last pipeline is answered.
func (c *loadConn) run(ctx context.Context, l load, next func() (int, bool), w *watcher) error {
	for ctx.Err() == nil {
		n := c.request.fill(next)
		if n == 0 {
			return nil
		}
		begin := time.Now()
		refused, err := c.ask(n)
		if err == nil {
			err = c.acceptable(l, refused)
		}
		if err != nil {
			return err
		}
		w.record(begin, time.Now(), n, refused)
	}
	return nil
}

// acceptable returns an error if requests of l were refused that may not be.
func (c *loadConn) acceptable(l load, refused int) error {
	if refused == 0 || l.refusable {
		return nil
	}
	return fmt.Errorf("%s: %d requests were refused", c.side.name, refused)
}

// A loadConn is a connection that sends pipelines of a command.
type loadConn struct {
	side    *side
	conn    net.Conn
	request *pipeline
	lines   int // of a reply
	buf     []byte
}

// openConns opens n connections to s, one at a time.
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
			side: s, conn: conn, request: newPipeline(s.commands[a], pipeline), lines: s.replyLines[a],
			buf: make([]byte, min(64, pipeline)<<10),
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
	return refused, c.failed(err)
}

// failed names the side in err, if that is not nil.
func (c *loadConn) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c.side.name, err)
}

// lastReplyWait bounds the wait for outstanding replies at the end of a run.
const lastReplyWait = 10 * time.Second
