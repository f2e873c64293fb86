package server

import (
	"io"
	"net"
	"testing"
)

// Who waits for the other side has no turn, who works has, and who is done needs none.
func TestTurns(t *testing.T) {
	const atOnce = 1
	turns := newTurns(atOnce)
	open := func() (*turned, net.Conn) {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close(); there.Close() })
		return &turned{Conn: here, turns: turns}, there
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
	if !second.has || len(turns) != atOnce {
		t.Errorf("who has read has a turn: %v, and %d are taken; want true, %d", second.has, len(turns), atOnce)
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
	second.retire()
	<-worked
	go client.Write([]byte("b"))
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil || second.has {
		t.Errorf("who is done waits for a turn: %v, %v", second.has, err)
	}
	third.retire()
	if len(turns) != 0 {
		t.Errorf("%d turns are taken at the end", len(turns))
	}
}

// Handshakes give their turns back, whatever becomes of them.
func TestHandshakesGiveTurnsBack(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	for range 2 * cap(r.secure.turns) {
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		bad := r.raw()
		send(t, bad, array("PING"))
		_, _ = io.ReadAll(bad)
		r.raw().Close()
	}
	until(t, "no turn is taken", func() bool { return r.underWay() == 0 && len(r.secure.turns) == 0 })
}
