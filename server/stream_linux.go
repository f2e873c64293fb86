package server

import (
	"math"
	"runtime"
	"syscall"
)

// A streamState is the state of a receive of a connection in the loop's ring.
type streamState uint8

const (
	streamOff streamState = iota // epoll reports the connection, if it is watched
	streamOn
	streamEnding // cancelled; its last completion is still to come
)

// Tags of a ring's completions that belong to no connection. Others are the generation of a
// connection and, in the low 32 bits, its descriptor.
const (
	tagIgnored = 0
	tagEpoll   = 1
)

// maxStreamed is the size of a receive beyond which a connection is read without the ring,
// straight into the input.
const maxStreamed = 16 << 10

// A streams is the use that a loop makes of a ring: light connections are received from by
// it, without a system call each, and all replies of a wake-up are sent by one. Others, and
// listeners, stay with epoll, which the ring watches.
type streams struct {
	ring        *ring // nil: epoll only
	generation  uint32
	active      int // receives whose last completion has not come
	epollArmed  bool
	ready       []syscall.EpollEvent
	withInput   []*loopConn // connections that may have received bytes left
	queuedSends []queuedSend
}

type queuedSend struct {
	c   *loopConn
	out []byte
}

// A stream is the part of a connection that streams uses.
type stream struct {
	state    streamState
	tag      uint64
	received []byte // not read yet; nil: none
	owned    bool   // received is not in a buffer of the ring
}

// openStreams opens the ring, if it is configured.
func (l *loop) openStreams() {
	if !l.env.cfg.Ring {
		return
	}
	runtime.LockOSThread() // the kernel accepts calls of one thread
	r, err := openRing()
	if err != nil {
		runtime.UnlockOSThread()
		l.env.log.Warn("io_uring is not available, epoll is used", "error", err)
		return
	}
	l.streams.ring = r
}

// closeStreams closes the ring. Requires: all connections are dropped.
func (l *loop) closeStreams() {
	if r := l.streams.ring; r != nil {
		for l.streams.active > 0 { // until then they hold the sockets, and the buffers
			_ = r.wait()
			l.completeAll()
		}
		r.close()
		l.streams.ring = nil
		runtime.UnlockOSThread()
	}
}

// canStream reports whether the ring may receive from c.
func (l *loop) canStream(c *loopConn) bool {
	return l.streams.ring != nil && c.stream.state == streamOff && c.secured == nil && c.authenticated && c.stream.received == nil &&
		c.events == syscall.EPOLLIN && !c.fullRead && !c.inFlight && !c.closed && !c.inputEnded && !c.queued && !l.draining && !l.isHeavy(c)
}

// startStream begins to receive. Requires: canStream, and epoll does not watch c.
func (l *loop) startStream(c *loopConn) {
	l.streams.active++
	l.streams.generation = l.streams.generation%math.MaxInt32 + 1
	c.stream.tag = uint64(l.streams.generation)<<32 | uint64(uint32(c.fd))
	c.stream.state = streamOn
	s := l.streams.ring.next()
	s.op, s.priority, s.flags, s.fd, s.tag = opRecv, recvMultishot, selectBuffer, int32(c.fd), c.stream.tag
}

// endStream cancels the receive. When its last completion comes, epoll watches c.
func (l *loop) endStream(c *loopConn) {
	if c.stream.state == streamOn {
		c.stream.state = streamEnding
		s := l.streams.ring.next()
		s.op, s.fd, s.addr, s.tag = opCancel, -1, c.stream.tag, tagIgnored
	}
}

// chooseStream moves c to the ring if it is light, and away from it if not.
func (l *loop) chooseStream(c *loopConn) {
	switch {
	case l.streams.ring == nil || c.closed:
	case c.stream.state == streamOn && (c.fullRead || l.isHeavy(c)):
		l.endStream(c)
	case c.watched && l.canStream(c):
		l.poll.main.remove(c.fd)
		l.startStream(c)
	}
}

// wait returns what is ready, as poller.wait does.
func (l *loop) wait() []syscall.EpollEvent {
	st := &l.streams
	r := st.ring
	if r == nil {
		return l.poll.wait(len(l.runQueue) == 0)
	}
	l.keepInput()
	r.giveBack()
	if !st.epollArmed {
		st.epollArmed = true
		s := r.next()
		s.op, s.fd, s.opFlags, s.tag = opPollAdd, int32(l.poll.main), syscall.EPOLLIN, tagEpoll
	}
	for more := true; more && len(r.pending) < maxEvents; {
		before := len(r.pending)
		_ = r.run()
		r.collect()
		more = len(r.pending)-before >= ringRun
	}
	if len(r.pending) == 0 && len(l.runQueue) == 0 {
		_ = r.wait()
	}
	l.completeAll()
	return st.ready
}

// completeAll handles the completions, and replaces streams.ready.
func (l *loop) completeAll() {
	st := &l.streams
	st.ready = st.ready[:0]
	st.ring.collect()
	for _, d := range st.ring.pending {
		l.complete(d)
	}
	st.ring.pending = st.ring.pending[:0]
}

// complete handles a completion.
func (l *loop) complete(d completion) {
	st := &l.streams
	switch d.tag {
	case tagIgnored:
		return
	case tagEpoll:
		st.epollArmed = false
		st.ready = append(st.ready, l.poll.wait(false)...)
		return
	}
	last := d.flags&cqeMore == 0
	if last {
		st.active--
	}
	c := l.conns[uint32(d.tag)]
	if c == nil || c.stream.tag != d.tag || c.stream.state == streamOff {
		_ = st.ring.received(d)
		return
	}
	in := &c.stream
	switch p := st.ring.received(d); {
	case len(p) == 0:
	case in.received != nil: // the buffers of the ring have no room behind it
		in.received, in.owned = append(in.received, p...), true
	default:
		in.received, in.owned = p, false
		st.withInput = append(st.withInput, c)
		l.report(c)
	}
	if last {
		in.state = streamOff
		if c.watched && l.poll.main.add(c.fd, c.events) != nil {
			l.drop(c)
		} else if l.draining {
			l.report(c)
		}
	}
}

func (l *loop) report(c *loopConn) {
	l.streams.ready = append(l.streams.ready, syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.fd)})
}

// keepInput copies received bytes that were not read at this wake-up, and ends the streams of
// their connections. Those that may be read are queued.
func (l *loop) keepInput() {
	st := &l.streams
	for _, c := range st.withInput {
		in := &c.stream
		if c.closed || in.received == nil {
			continue
		}
		if !in.owned {
			in.received, in.owned = append([]byte(nil), in.received...), true
		}
		l.endStream(c)
		if !c.inFlight && l.mayExecute(c) && !(l.draining && in.state != streamOff) {
			c.reported = true
			l.enqueue(c)
		}
	}
	clear(st.withInput)
	st.withInput = st.withInput[:0]
}

// readLater makes keepInput see received bytes that are left.
func (l *loop) readLater(c *loopConn) {
	if c.stream.received != nil {
		l.streams.withInput = append(l.streams.withInput, c)
	}
}

// receiveStream is receive for a connection with received bytes, or one in the ring.
func (l *loop) receiveStream(c *loopConn) (n int, full bool, errno syscall.Errno) {
	in := &c.stream
	if in.received == nil {
		return 0, false, syscall.EAGAIN
	}
	big := len(in.received) >= maxStreamed
	n = copy(c.in.Space(), in.received)
	c.in.Filled(n)
	in.received = in.received[n:]
	if len(in.received) == 0 {
		in.received, in.owned = nil, false
	}
	l.readLater(c)
	return n, big || in.received != nil || l.draining, 0
}

// queueSend queues output for finishSends.
func (l *loop) queueSend(c *loopConn, out []byte) {
	l.streams.ring.send(c.fd, out)
	l.streams.queuedSends = append(l.streams.queuedSends, queuedSend{c, out})
}

// finishSends sends the queued output. Bytes that a socket does not take become backlog.
func (l *loop) finishSends() {
	st := &l.streams
	if len(st.queuedSends) == 0 {
		return
	}
	for i, n := range st.ring.results() {
		q := st.queuedSends[i]
		if n > 0 {
			q.c.countSent(int(n))
			q.out = q.out[n:]
		}
		l.send(q.c, q.out) // it meets an error again
	}
	clear(st.queuedSends)
	st.queuedSends = st.queuedSends[:0]
}
