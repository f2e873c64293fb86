package server

import (
	"io"
	"net"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestCounted bounds the connections of another listener together with the server's own.
func TestCounted(t *testing.T) {
	r := start(t, Config{MaxClients: 2})
	inner, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := r.Counted(inner)
	defer other.Close()
	accepted := make(chan net.Conn, 3)
	go func() {
		for {
			nc, err := other.Accept()
			if err != nil {
				return
			}
			accepted <- nc
		}
	}()
	dial := func(at net.Addr) net.Conn {
		nc, err := net.Dial(at.Network(), at.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		return nc
	}
	clients := func(want int64) {
		t.Helper()
		testwait.Until(t, testTimeout, "the count of clients", func() bool { return r.Stats().Clients == want })
	}
	dial(r.Addr())
	clients(1)
	dial(inner.Addr())
	first := <-accepted
	if n, err := io.ReadAll(dial(inner.Addr())); err != nil || len(n) > 0 {
		t.Errorf("a connection beyond the bound reads %q, %v; want its end", n, err)
	}
	if s := r.Stats(); s.Clients != 2 || s.Rejected != 1 || s.Connections != 3 {
		t.Errorf("the counts are %+v", s)
	}
	first.Close()
	first.Close()
	clients(1)
	dial(inner.Addr())
	second := <-accepted
	clients(2)
	second.Close()
}
