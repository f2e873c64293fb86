package server

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// loops is the transport with a few event loops.
type loops struct {
	env      *env
	all      []*loop
	finished chan struct{}
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

// carry passes the connection to the loop with the fewest. The loop uses a duplicate of
// the descriptor, because nc's own is registered with the runtime's poller, which would
// wake up for it as well.
func (t *loops) carry(nc net.Conn) error {
	defer nc.Close()
	fd, err := duplicate(nc)
	if err != nil {
		return err
	}
	l := t.all[0]
	for _, other := range t.all[1:] {
		if other.load.Load() < l.load.Load() {
			l = other
		}
	}
	c := &loopConn{fd: fd}
	c.gauges.fd = fd
	err = t.env.initConn(&c.conn, nc, l.traffic, func() { l.submit(task{c, (*loop).resume}) }, func() { l.submit(task{c, (*loop).kill}) })
	if err != nil {
		_ = syscall.Close(fd)
		t.env.clients.Add(-1)
		return nil
	}
	l.load.Add(1)
	l.submit(task{c, (*loop).add})
	return nil
}

// duplicate returns a duplicate of the socket's descriptor, which is nonblocking.
func duplicate(nc net.Conn) (fd int, err error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return 0, errors.New("the connection has no descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	var errno syscall.Errno
	err = raw.Control(func(old uintptr) {
		var r uintptr
		r, _, errno = syscall.Syscall(syscall.SYS_FCNTL, old, syscall.F_DUPFD_CLOEXEC, 0)
		fd = int(r)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return fd, err
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
	if t.env.unsent.Load() == 0 && t.env.idleTimeout.Load() == 0 {
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
