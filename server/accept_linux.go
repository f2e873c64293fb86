package server

import (
	"syscall"
	"time"
)

// maxAcceptsPerWakeUp bounds the connections that a loop accepts from a listener at a
// wake-up: about a tenth of a millisecond of work. The poller reports the rest again.
const maxAcceptsPerWakeUp = 8

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

// watch makes the poller report connections of ln. Of several loops it wakes up one.
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

// acceptReady accepts connections of the listeners that the poller has reported. It runs
// after all other events, because a new connection may have the descriptor of one that was
// closed meanwhile.
func (l *loop) acceptReady() {
	for _, fd := range l.readyListeners {
		for _, ln := range l.listeners {
			if ln.fd == fd {
				l.acceptFrom(ln)
			}
		}
	}
	l.readyListeners = l.readyListeners[:0]
}

func (l *loop) acceptFrom(ln *loopListener) {
	for range maxAcceptsPerWakeUp {
		fd, client, local, err := ln.accept()
		switch err {
		case nil:
			ln.backOff = 0
			ln.to.admit(l, fd, client, local)
		case syscall.EINTR, syscall.ECONNABORTED: // the client has gone
		case syscall.EAGAIN:
			return
		default:
			l.poll.main.remove(ln.fd)
			l.pause(ln, err)
			return
		}
	}
}

// pause watches ln again after a while.
func (l *loop) pause(ln *loopListener, err error) {
	time.AfterFunc(ln.backOff.next(l.env, ln.addr, err), func() {
		l.submit(task{nil, func(l *loop, _ *loopConn) { l.watch(ln) }})
	})
}
