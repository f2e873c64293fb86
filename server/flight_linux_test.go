package server

import (
	"net"
	"testing"
)

// watchedConns returns the number of connections that the poller of a server's only loop
// watches.
func watchedConns(r *rig) int {
	found := make(chan int)
	r.plain.(*loops).all[0].submit(task{nil, func(l *loop, _ *loopConn) {
		n := 0
		for _, c := range l.conns {
			if c != nil && c.watched {
				n++
			}
		}
		found <- n
	}})
	return <-found
}

// A client with a batch in flight is watched until it sends more, or ends, so that a client
// that waits for its replies costs no registrations. A client that does not wait does not
// wake up the loop again and again. All its commands are answered in order.
func TestWatchedWhileInFlight(t *testing.T) {
	for _, tt := range []struct {
		name    string
		then    func(nc net.Conn)
		watched int
		ends    bool // it sends nothing later
		want    string
	}{
		{"it waits", func(net.Conn) {}, 1, false, bulk("a")},
		{"it sends more", func(nc net.Conn) { send(t, nc, array("OP", "b")) }, 0, false, bulk("a") + bulk("b")},
		{"it sends no more", func(nc net.Conn) { nc.(*net.TCPConn).CloseWrite() }, 0, true, bulk("a")},
		{"it is gone", func(nc net.Conn) { nc.Close() }, 0, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := startWith(t, Config{Loops: 1}, &echoLog{barrier: make(chan struct{})})
			nc := r.dial()
			send(t, nc, array("HOLD", "a"))
			<-r.echo.barrier
			tt.then(nc)
			until(t, "the loop has seen it", func() bool { return watchedConns(r) == tt.watched })
			r.echo.barrier <- struct{}{}
			if tt.want == "" {
				until(t, "it is closed", func() bool { return r.echo.closed.Load() == 1 })
				return
			}
			expect(t, nc, tt.want)
			if !tt.ends {
				send(t, nc, array("OP", "c"))
				expect(t, nc, bulk("c"))
			}
		})
	}
}
