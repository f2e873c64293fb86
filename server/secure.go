package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of connections that have not completed a TLS handshake.
const (
	handshakeTime = 10 * time.Second // for the whole handshake
	maxHandshakes = 512              // at once
	// minHandshakeTime is the share of handshakeTime that each connection gets even if
	// further connections wait.
	minHandshakeTime = 500 * time.Millisecond
)

// Reasons for a failed handshake, if crypto/tls has no reason or a less clear reason.
const (
	notTLS    = "the client does not speak TLS"
	tooSlow   = "the client was too slow"
	displaced = "the client was slow, and others waited"
)

// plainOnTLSReply is the reply to a client that does not speak TLS.
const plainOnTLSReply = "-ERR this port is for TLS\r\n"

// secure is the transport of connections over TLS. Handshakes run in goroutines of their
// own, and their grown stacks end with them; afterwards a carrier serves the connection. A
// connection counts as a client only after its handshake.
type secure struct {
	acceptor
	to       carrier
	finished chan struct{} // closed when no handshake is left
	failed   atomic.Int64
	failures sampledLog
	running  sync.WaitGroup // handshakes
	cpu      cpuTokens      // for handshakes that compute rather than wait for the client

	mu         sync.Mutex
	handshakes []*handshake  // the oldest first
	slotFree   chan struct{} // capacity 1; a slot may be free again
}

// A handshake is a connection that has not completed its TLS handshake.
type handshake struct {
	socket *socket
	below  *throttledConn // between the socket and tls
	tls    *tls.Conn
	began  time.Time
}

// newSecure makes a transport that drains before to does.
func newSecure(e *env, to carrier) *secure {
	t := &secure{
		to: to, finished: make(chan struct{}), failures: sampledLog{text: "TLS handshakes failed"},
		slotFree: make(chan struct{}, 1),
		cpu:      newCPUTokens(max(1, runtime.GOMAXPROCS(0)/2)),
	}
	t.acceptor = acceptor{env: e, admit: t.admitTLS}
	return t
}

// admitTLS starts the handshake of a connection. It counts as a client when the handshake
// is done. A connection beyond MaxClients is closed without a reply, because a reply would
// need a handshake.
func (t *secure) admitTLS(nc net.Conn) error {
	t.env.connections.Add(1)
	if t.env.clients.Load() >= t.env.maxClients.Load() {
		t.env.rejected.Add(1)
		return nc.Close()
	}
	return t.shake(nc)
}

// shake starts the handshake once a slot is free. While all are taken it blocks, with
// further connections in the system's queue, until a handshake ends or the oldest has had
// minHandshakeTime and is cut off. So silent clients delay other clients only briefly, and
// many honest clients are served in order.
func (t *secure) shake(nc net.Conn) error {
	h := &handshake{socket: &socket{Conn: nc}, began: time.Now()}
	for {
		wait := t.reserve(h)
		if wait <= 0 {
			t.running.Go(func() { t.runHandshake(h) })
			return nil
		}
		select {
		case <-t.slotFree:
		case <-time.After(wait):
		case <-t.env.closing:
			return nc.Close()
		}
	}
}

// reserve takes a slot, or returns the time until the oldest handshake may be cut off.
func (t *secure) reserve(h *handshake) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.handshakes) == maxHandshakes {
		oldest := t.handshakes[0]
		if wait := minHandshakeTime - time.Since(oldest.began); wait > 0 {
			return wait
		}
		oldest.socket.Close()
		t.handshakes = slices.Delete(t.handshakes, 0, 1)
	}
	h.began = time.Now()
	t.handshakes = append(t.handshakes, h)
	return 0
}

// finish returns the slot. It returns false if h was cut off.
func (t *secure) finish(h *handshake) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.handshakes, h)
	if i < 0 {
		return false
	}
	t.handshakes = slices.Delete(t.handshakes, i, i+1)
	select {
	case t.slotFree <- struct{}{}:
	default:
	}
	return true
}

// runHandshake does the handshake and then starts, or closes, the connection.
func (t *secure) runHandshake(h *handshake) {
	defer t.env.recoverPanic()
	_ = h.socket.SetDeadline(h.began.Add(handshakeTime))
	h.below = &throttledConn{Conn: h.socket, tokens: t.cpu}
	h.tls = tls.Server(h.below, t.env.cfg.TLS())
	err := func() error {
		defer h.below.detach()
		return h.tls.Handshake()
	}()
	if stayed := t.finish(h); err != nil || !stayed {
		t.fail(h, err, stayed)
		return
	}
	_ = h.socket.SetDeadline(time.Time{})
	if t.env.admitConn(h.tls) {
		t.to.serveTLS(h)
	}
}

// fail counts a failed handshake, logs the reason and closes the connection. A client
// that hung up before it sent anything, as a port probe does, is not logged.
func (t *secure) fail(h *handshake, err error, stayed bool) {
	defer h.socket.Close()
	t.failed.Add(1)
	select {
	case <-t.env.closing: // it was cut off by drain
		return
	default:
	}
	var noTLS tls.RecordHeaderError
	why := ""
	switch {
	case !stayed:
		why = displaced
	case errors.Is(err, io.EOF):
		return
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = tooSlow
	case errors.As(err, &noTLS) && noTLS.Conn != nil:
		why = notTLS
		_, _ = h.socket.Write([]byte(plainOnTLSReply))
	default:
		why = err.Error()
	}
	t.failures.add(h.socket.RemoteAddr().String(), why)
}

func (t *secure) sweep() { t.failures.flush(t.env.log) }

// drain cuts off the handshakes under way. The carrier drains the connections.
func (t *secure) drain() {
	t.mu.Lock()
	for _, h := range t.handshakes {
		h.socket.Close()
	}
	t.handshakes = nil
	t.mu.Unlock()
	t.running.Wait()
	close(t.finished)
}

func (t *secure) stop() int { return 0 }

func (t *secure) done() <-chan struct{} { return t.finished }
