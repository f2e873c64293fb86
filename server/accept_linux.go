package server

import (
	"syscall"
	"time"
)

// maxAcceptsPerTurn bounds the connections that a loop accepts from a listener at once:
// about a tenth of a millisecond of work. The poller reports the rest again.
const maxAcceptsPerTurn = 8

// A loopListener is a listener as one of several event loops uses it.
type loopListener struct {
	*listener
	to      *loops
	backOff backOff
	closed  bool
}

// listen begins to accept connections.
func (l *loop) listen(ln *loopListener) {
	l.grow(ln.fd)
	l.listeners = append(l.listeners, ln)
	l.watch(ln)
}

// watch makes the poller report connections of ln. It wakes up only one of several loops.
func (l *loop) watch(ln *loopListener) {
	const exclusive = 1 << 28 // EPOLLEXCLUSIVE
	if ln.closed {
		return
	}
	if err := l.poll.main.add(ln.fd, syscall.EPOLLIN|exclusive); err != nil {
		l.pause(ln, err)
	}
}

// unlisten ends the use of all listeners.
func (l *loop) unlisten() {
	for _, ln := range l.listeners {
		ln.closed = true
		l.poll.main.remove(ln.fd)
	}
	l.listeners = nil
}

// acceptReady accepts a few connections of each listener that the poller has reported, and
// keeps those listeners that may have more. It runs after all other events, because a new
// connection may have the descriptor of a connection that was closed meanwhile.
func (l *loop) acceptReady() {
	left := l.readyListeners[:0]
	for _, fd := range l.readyListeners {
		for _, ln := range l.listeners {
			if ln.fd == fd && l.acceptFrom(ln) {
				left = append(left, fd)
			}
		}
	}
	l.readyListeners = left
}

// acceptFrom accepts connections of a listener, and reports whether there may be more.
func (l *loop) acceptFrom(ln *loopListener) (left bool) {
	for range maxAcceptsPerTurn {
		fd, client, local, err := ln.accept()
		switch err {
		case nil:
			ln.backOff = 0
			ln.to.admit(l, fd, client, local)
		case syscall.EINTR, syscall.ECONNABORTED: // the client has gone
		case syscall.EAGAIN:
			return false
		default:
			l.poll.main.remove(ln.fd)
			l.pause(ln, err)
			return false
		}
	}
	return true
}

// pause watches ln again after a while.
func (l *loop) pause(ln *loopListener, err error) {
	time.AfterFunc(ln.backOff.next(l.env, ln.addr, err), func() {
		l.submit(task{nil, func(l *loop, _ *loopConn) { l.watch(ln) }})
	})
}
