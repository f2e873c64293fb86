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
	crowdTime = 500 * time.Millisecond
)

// Why a handshake fails, where crypto/tls does not know or says it less clearly.
const (
	inTheClear  = "the client does not speak TLS"
	tooSlow     = "the client was too slow"
	tooSlowHere = "the client was slow, and others waited"
)

// What a client in the clear is told.
const wantTLS = "-ERR this port is for TLS\r\n"

// secure is the transport of connections over TLS. Their handshakes are done in
// goroutines of their own, whose grown stacks end with them; then there is a goroutine
// for each connection. It is no client, and takes no place of one, before that.
type secure struct {
	*goroutines
	failed     atomic.Int64
	complaints complaints
	running    sync.WaitGroup // handshakes
	turns      turns          // of those that work and don't wait for the client

	mu    sync.Mutex
	open  []*handshake  // the oldest first
	place chan struct{} // has room for one: there may be a place again
}

// A handshake is a connection that is no client yet.
type handshake struct {
	socket *socket
	began  time.Time
}

func newSecure(s *Server) *secure {
	return &secure{
		goroutines: newGoroutines(s), complaints: complaints{text: "TLS handshakes have failed"}, place: make(chan struct{}, 1),
		turns: newTurns(max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// carry begins the handshake once there is a place for it. When all are taken it
// waits, and newcomers with it in the queue of the system, for one to end, or cuts off
// the oldest after crowdTime: silent clients then hold up others for a moment only, and
// a crowd of honest ones is served in its turn.
func (t *secure) carry(nc net.Conn) error {
	h := &handshake{&socket{Conn: nc}, time.Now()}
	for {
		wait := t.enter(h)
		if wait <= 0 {
			t.running.Go(func() { t.shake(h) })
			return nil
		}
		select {
		case <-t.place:
		case <-time.After(wait):
		case <-t.s.closing:
			return nc.Close()
		}
	}
}

// enter takes a place, or says how long to wait until the oldest may be cut off.
func (t *secure) enter(h *handshake) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) == maxHandshakes {
		oldest := t.open[0]
		if wait := crowdTime - time.Since(oldest.began); wait > 0 {
			return wait
		}
		oldest.socket.Close()
		t.open = slices.Delete(t.open, 0, 1)
	}
	h.began = time.Now()
	t.open = append(t.open, h)
	return 0
}

// leave gives the place back. False: h was cut off.
func (t *secure) leave(h *handshake) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.open, h)
	if i < 0 {
		return false
	}
	t.open = slices.Delete(t.open, i, i+1)
	select {
	case t.place <- struct{}{}:
	default:
	}
	return true
}

// shake is the handshake, and what becomes of the connection.
func (t *secure) shake(h *handshake) {
	defer t.s.rescue()
	_ = h.socket.SetDeadline(h.began.Add(handshakeTime))
	c := &turned{Conn: h.socket, turns: t.turns}
	nc := tls.Server(c, t.s.cfg.TLS())
	err := func() error {
		defer c.retire()
		return nc.Handshake()
	}()
	if stayed := t.leave(h); err != nil || !stayed {
		t.fail(h, err, stayed)
		return
	}
	_ = h.socket.SetDeadline(time.Time{})
	if t.s.room(nc) {
		t.begin(nc, h.socket)
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
		why = tooSlowHere
	case errors.Is(err, io.EOF):
		return
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = tooSlow
	case errors.As(err, &noTLS) && noTLS.Conn != nil:
		why = inTheClear
		_, _ = h.socket.Write([]byte(wantTLS))
	default:
		why = err.Error()
	}
	t.complaints.note(h.socket.RemoteAddr().String(), why)
}

func (t *secure) sweep() {
	t.goroutines.sweep()
	t.complaints.report(t.s.log)
}

// drain cuts off those that are no clients yet.
func (t *secure) drain() {
	t.mu.Lock()
	for _, h := range t.open {
		h.socket.Close()
	}
	t.open = nil
	t.mu.Unlock()
	t.running.Wait()
	t.goroutines.drain()
}
