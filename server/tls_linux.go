package server

import (
	"crypto/tls"
	"net"
	"os"
	"syscall"
	"time"

	"limitsrv/commands/resp"
)

// Bounds of a read of ciphertext. It leaves room in the input buffer for a record that TLS
// has received in part before.
const (
	maxCiphertext = lentBytes - maxRecord
	minCiphertext = 4 << 10
	maxRecord     = 16 << 10
)

// A tlsLayer is TLS between the socket of a loop's connection and its session. It is the
// connection below crypto/tls, which so reads and writes memory and never blocks; the loop
// makes the system calls. Between calls it holds part of a record at most. Concurrency: not
// safe for concurrent use.
type tlsLayer struct {
	net.Conn // nil: crypto/tls calls no other method
	tls      *tls.Conn
	received []byte // ciphertext that crypto/tls has not taken yet
	sealed   []byte // records to be sent
}

// Read returns ciphertext, or an error that lets crypto/tls read again.
func (t *tlsLayer) Read(p []byte) (int, error) {
	if len(t.received) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, t.received)
	t.received = t.received[n:]
	return n, nil
}

func (t *tlsLayer) Write(p []byte) (int, error) {
	t.sealed = append(t.sealed, p...)
	return len(p), nil
}

// SetWriteDeadline has no effect. It precedes the alert that ends a connection.
func (t *tlsLayer) SetWriteDeadline(time.Time) error { return nil }

// open passes ciphertext to TLS, puts the plaintext of all complete records into in, and
// returns its size. An error means that nothing follows.
func (t *tlsLayer) open(ciphertext []byte, in *resp.Reader) (n int, err error) {
	t.received = ciphertext
	for {
		k, err := t.tls.Read(in.Space())
		in.Filled(k)
		n += k
		if err == os.ErrDeadlineExceeded {
			t.received = nil
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// seal returns the records of the plaintext, in memory of buf, which may grow. It returns
// no records after a failure of TLS.
func (t *tlsLayer) seal(plaintext, buf []byte) []byte {
	t.sealed = buf[:0]
	_, _ = t.tls.Write(plaintext) // it fails only after an alert, which ends the connection
	return t.takeSealed()
}

// takeSealed returns the records to be sent.
func (t *tlsLayer) takeSealed() []byte {
	records := t.sealed
	t.sealed = nil
	return records
}

// end sends the alert that ends TLS, if the socket takes it.
func (t *tlsLayer) end(fd int) {
	_ = t.tls.CloseWrite()
	if records := t.takeSealed(); len(records) > 0 {
		_, _ = writeNow(fd, records)
	}
}

// receiveTLS is receive over TLS. The end of TLS, which is not the end of the socket's
// input, is reported by the next call: the poller reports the socket at once for it.
func (l *loop) receiveTLS(c *loopConn) (n int, full bool, errno syscall.Errno) {
	if l.ciphertext == nil {
		l.ciphertext = make([]byte, maxCiphertext)
	}
	room := l.ciphertext[:min(maxCiphertext, max(minCiphertext, len(c.in.Space())-maxRecord))]
	got, errno := readNow(c.fd, room)
	if errno == 0 && got == 0 || errno != 0 && errno != syscall.EAGAIN {
		return 0, false, errno
	}
	n, err := c.secured.open(room[:got], &c.in)
	if records := c.secured.takeSealed(); len(records) > 0 { // an alert, or the answer to new keys
		l.send(c, records)
	}
	switch {
	case c.closed:
		return 0, false, syscall.EPIPE
	case n == 0 && err == nil:
		return 0, got == len(room), syscall.EAGAIN
	case err != nil:
		_ = syscall.Shutdown(c.fd, syscall.SHUT_RD)
	}
	return n, got == len(room), 0
}

// sealOutput returns the records of out, which are valid until the next call.
func (l *loop) sealOutput(c *loopConn, out []byte) []byte {
	records := c.secured.seal(out, l.sealed)
	l.sealed = nil
	if cap(records) <= keptOutput {
		l.sealed = records[:0]
	}
	return records
}

// serveTLS begins to serve a connection over TLS after its handshake, which counts as a
// client. The socket moves from the runtime's poller to a loop's poller.
func (t *loops) serveTLS(h *handshake) {
	fd, err := duplicate(h.socket.Conn)
	client, local := clientAddr(h.socket.RemoteAddr(), h.socket.LocalAddr()), h.socket.LocalAddr().String()
	h.socket.Close()
	if err != nil {
		t.env.log.Error("connection closed", "client", client, "why", "no descriptor", "error", err)
		t.env.clients.Add(-1)
		return
	}
	layer := &tlsLayer{tls: h.tls}
	h.below.Conn = layer
	t.start(nil, &loopConn{fd: fd, secured: layer}, client, local)
}
