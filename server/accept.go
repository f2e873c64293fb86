package server

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Bounds of the pause after a failed accept, most often because file descriptors ran out.
// It doubles with each failure.
const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = time.Second
)

// A backOff is the pause after the last failed accept of a listener; 0: the last accept
// did not fail.
type backOff time.Duration

// next returns the pause after another failure. The first failure is logged.
func (b *backOff) next(e *env, addr net.Addr, err error) time.Duration {
	if *b == 0 {
		e.log.Error("accept failed, retrying", "addr", addr.String(), "error", err)
	}
	*b = min(max(2**b, backOff(minBackOff)), backOff(maxBackOff))
	return time.Duration(*b)
}

// An acceptor accepts connections with a goroutine for each listener.
type acceptor struct {
	env *env
	// admit takes over an accepted connection, also if it returns an error, which is a
	// fault of this machine and not of the client.
	admit     func(net.Conn) error
	listeners []net.Listener
	running   sync.WaitGroup
}

func (a *acceptor) listen(ln net.Listener) error {
	a.listeners = append(a.listeners, ln)
	return nil
}

func (a *acceptor) accept() {
	for _, ln := range a.listeners {
		a.running.Go(func() { a.acceptFrom(ln) })
	}
}

func (a *acceptor) unlisten() {
	for _, ln := range a.listeners {
		ln.Close()
	}
	a.running.Wait()
}

// acceptFrom accepts until ln is closed.
func (a *acceptor) acceptFrom(ln net.Listener) {
	var pause backOff
	for {
		nc, err := ln.Accept()
		if err == nil {
			err = a.admit(nc)
		}
		if err == nil {
			pause = 0
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		select {
		case <-time.After(pause.next(a.env, ln.Addr(), err)):
		case <-a.env.closing:
			return
		}
	}
}
