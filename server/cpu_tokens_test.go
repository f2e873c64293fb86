package server

import (
	"io"
	"net"
	"testing"
)

// Who waits for the other side has no turn, who works has, and who is done needs none.
func TestTurns(t *testing.T) {
	const atOnce = 1
	turns := newCPUTokens(atOnce)
	open := func() (*throttledConn, net.Conn) {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close(); there.Close() })
		return &throttledConn{Conn: here, tokens: turns}, there
	}
	first, _ := open()
	second, client := open()
	waiting := make(chan struct{})
	go func() {
		close(waiting)
		_, _ = first.Read(make([]byte, 1)) // until the end
	}()
	<-waiting
	go client.Write([]byte("a"))
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if !second.held || len(turns) != atOnce {
		t.Errorf("who has read has a turn: %v, and %d are taken; want true, %d", second.held, len(turns), atOnce)
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
		t.Error("two work at once")
	default:
	}
	second.detach()
	<-worked
	go client.Write([]byte("b"))
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil || second.held {
		t.Errorf("who is done waits for a turn: %v, %v", second.held, err)
	}
	third.detach()
	if len(turns) != 0 {
		t.Errorf("%d turns are taken at the end", len(turns))
	}
}

// Handshakes give their turns back, whatever becomes of them.
func TestHandshakesGiveTurnsBack(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	for range 2 * cap(r.secure.cpu) {
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		bad := r.raw()
		send(t, bad, array("PING"))
		_, _ = io.ReadAll(bad)
		r.raw().Close()
	}
	until(t, "no turn is taken", func() bool { return r.underWay() == 0 && len(r.secure.cpu) == 0 })
}
