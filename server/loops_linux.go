package server

import (
	"fmt"
	"net"
	"sync"
	"syscall"
)

// loops is the transport with a few event loops.
type loops struct {
	env       *env
	all       []*loop
	listeners []*listener
	finished  chan struct{}
}

func newLoops(e *env, n int) (*loops, error) {
	t := &loops{env: e, finished: make(chan struct{})}
	counters := e.newTraffic(n)
	var running sync.WaitGroup
	for i := range n {
		l, err := newLoop(e, &counters[i])
		if err != nil {
			t.submitAll((*loop).stop)
			return nil, fmt.Errorf("event loop %d of %d: %w", i+1, n, err)
		}
		t.all = append(t.all, l)
		running.Go(l.run)
	}
	go func() {
		running.Wait()
		close(t.finished)
	}()
	return t, nil
}

func (t *loops) listen(ln net.Listener) error {
	own, err := newListener(ln, t.env.cfg.TCPKeepAlive)
	if err == nil {
		t.listeners = append(t.listeners, own)
	}
	return err
}

func (t *loops) accept() {
	t.submitAll(func(l *loop, _ *loopConn) {
		for _, ln := range t.listeners {
			l.listen(&loopListener{listener: ln, to: t})
		}
	})
}

func (t *loops) unlisten() {
	var left sync.WaitGroup
	left.Add(len(t.all))
	t.submitAll(func(l *loop, _ *loopConn) {
		l.unlisten()
		left.Done()
	})
	left.Wait()
	for _, ln := range t.listeners {
		ln.close()
	}
	t.listeners = nil
}

// admit serves a connection that a loop has accepted, unless there are MaxClients.
func (t *loops) admit(by *loop, fd int, client, local string) {
	t.env.connections.Add(1)
	if !t.env.admitClient() {
		_, _ = writeNow(fd, []byte(maxClientsReply)) // the send buffer of a new socket is empty
		_ = syscall.Close(fd)
		return
	}
	t.start(by, &loopConn{fd: fd}, client, local)
}

// start passes a connection, which counts as a client, to the loop with the fewest. by is
// the loop that has accepted it, which is preferred; nil: no loop has.
func (t *loops) start(by *loop, c *loopConn, client, local string) {
	l := by
	for _, other := range t.all {
		if l == nil || other.load.Load() < l.load.Load() {
			l = other
		}
	}
	c.gauges.fd = c.fd
	err := t.env.initConn(&c.conn, client, local, l.traffic, func() { l.submit(task{c, (*loop).resume}) },
		func() { l.submit(task{c, (*loop).kill}) })
	if err != nil {
		_ = syscall.Close(c.fd)
		t.env.clients.Add(-1)
		return
	}
	l.load.Add(1)
	if l == by {
		l.add(c)
	} else {
		l.submit(task{c, (*loop).add})
	}
}

func (t *loops) submitAll(run func(*loop, *loopConn)) {
	for _, l := range t.all {
		l.submit(task{nil, run})
	}
}

// sweep wakes up only loops on which a connection can be overdue, because after each
// wake-up of a loop the runtime checks some fifty times whether it has gone back to
// waiting.
func (t *loops) sweep() {
	if t.env.room.Used() == 0 && t.env.idleTimeout.Load() == 0 {
		return
	}
	for _, l := range t.all {
		if l.load.Load() > 0 {
			l.submit(task{nil, (*loop).sweep})
		}
	}
}

func (t *loops) drain() { t.submitAll((*loop).drain) }

func (t *loops) stop() int {
	left := 0
	for _, l := range t.all {
		left += int(l.load.Load())
	}
	t.submitAll((*loop).stop)
	return left
}

func (t *loops) done() <-chan struct{} { return t.finished }
