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

// What strangers get of this machine before they have shown that they speak TLS.
const (
	handshakeTime = 10 * time.Second // for all of it
	maxHandshakes = 512              // at once
	// crowdTime is what each has of handshakeTime in any case when others wait.
	minHandshakeTime = 500 * time.Millisecond
)

// Why a handshake fails, where crypto/tls does not know or says it less clearly.
const (
	notTLS    = "the client does not speak TLS"
	tooSlow   = "the client was too slow"
	displaced = "the client was slow, and others waited"
)

// What a client in the clear is told.
const plainOnTLSReply = "-ERR this port is for TLS\r\n"

// secure is the transport of connections over TLS. Their handshakes are done in
// goroutines of their own, whose grown stacks end with them; then there is a goroutine
// for each connection. It is no client, and takes no place of one, before that.
type secure struct {
	*goroutines
	failed   atomic.Int64
	failures sampledLog
	running  sync.WaitGroup // handshakes
	cpu      cpuTokens      // of those that work and don't wait for the client

	mu         sync.Mutex
	handshakes []*handshake  // the oldest first
	slotFree   chan struct{} // has room for one: there may be a place again
}

// A handshake is a connection that is no client yet.
type handshake struct {
	socket *socket
	began  time.Time
}

func newSecure(s *Server) *secure {
	return &secure{
		goroutines: newGoroutines(s), failures: sampledLog{text: "TLS handshakes have failed"}, slotFree: make(chan struct{}, 1),
		cpu: newCPUTokens(max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// carry begins the handshake once there is a place for it. When all are taken it
// waits, and newcomers with it in the queue of the system, for one to end, or cuts off
// the oldest after crowdTime: silent clients then hold up others for a moment only, and
// a crowd of honest ones is served in its turn.
func (t *secure) carry(nc net.Conn) error {
	h := &handshake{&socket{Conn: nc}, time.Now()}
	for {
		wait := t.reserve(h)
		if wait <= 0 {
			t.running.Go(func() { t.runHandshake(h) })
			return nil
		}
		select {
		case <-t.slotFree:
		case <-time.After(wait):
		case <-t.s.closing:
			return nc.Close()
		}
	}
}

// enter takes a place, or says how long to wait until the oldest may be cut off.
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

// leave gives the place back. False: h was cut off.
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

// shake is the handshake, and what becomes of the connection.
func (t *secure) runHandshake(h *handshake) {
	defer t.s.recoverPanic()
	_ = h.socket.SetDeadline(h.began.Add(handshakeTime))
	c := &throttledConn{Conn: h.socket, tokens: t.cpu}
	nc := tls.Server(c, t.s.cfg.TLS())
	err := func() error {
		defer c.detach()
		return nc.Handshake()
	}()
	if stayed := t.finish(h); err != nil || !stayed {
		t.fail(h, err, stayed)
		return
	}
	_ = h.socket.SetDeadline(time.Time{})
	if t.s.admitClient(nc) {
		t.start(nc, h.socket)
	}
}

// fail counts a handshake that failed, tells why and closes the connection. Who has
// hung up before it said anything, as what looks whether a port is open does, is not
// worth a word.
func (t *secure) fail(h *handshake, err error, stayed bool) {
	defer h.socket.Close()
	t.failed.Add(1)
	select {
	case <-t.s.closing: // it was cut off by drain
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

func (t *secure) sweep() {
	t.goroutines.sweep()
	t.failures.flush(t.s.log)
}

// drain cuts off those that are no clients yet.
func (t *secure) drain() {
	t.mu.Lock()
	for _, h := range t.handshakes {
		h.socket.Close()
	}
	t.handshakes = nil
	t.mu.Unlock()
	t.running.Wait()
	t.goroutines.drain()
}
