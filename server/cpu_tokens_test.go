package server

import (
	"io"
	"net"
	"testing"
)

// A connection holds a token except while blocked, and holds no token after detach.
func TestThrottledConn(t *testing.T) {
	const atOnce = 1
	tokens := newCPUTokens(atOnce)
	open := func() (*throttledConn, net.Conn) {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close(); there.Close() })
		return &throttledConn{Conn: here, tokens: tokens}, there
	}
	first, _ := open()
	second, client := open()
	waiting := make(chan struct{})
	go func() {
		close(waiting)
		_, _ = first.Read(make([]byte, 1)) // blocks until the end of the test
	}()
	<-waiting
	go client.Write([]byte("a"))
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if !second.held || len(tokens) != atOnce {
		t.Errorf("after a read: token held: %v, %d tokens taken; want true, %d", second.held, len(tokens), atOnce)
	}
	third, other := open()
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		_, _ = io.ReadFull(third, make([]byte, 1))
	}()
	if _, err := other.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-worked:
		t.Error("two connections hold the only token")
	default:
	}
	second.detach()
	<-worked
	go client.Write([]byte("b"))
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil || second.held {
		t.Errorf("after detach: token held: %v, error %v", second.held, err)
	}
	third.detach()
	if len(tokens) != 0 {
		t.Errorf("%d tokens are taken at the end", len(tokens))
	}
}

// Handshakes return their tokens, whether they succeed or fail.
func TestHandshakesReleaseTokens(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	for range 2 * cap(r.secure.cpu) {
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		bad := r.dialPlain()
		send(t, bad, array("PING"))
		_, _ = io.ReadAll(bad)
		r.dialPlain().Close()
	}
	until(t, "no token is held", func() bool { return r.pendingHandshakes() == 0 && len(r.secure.cpu) == 0 })
}
