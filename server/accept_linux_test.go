package server

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLoopsShowAddressesOfConnections compares with the addresses that the client has.
func TestLoopsShowAddressesOfConnections(t *testing.T) {
	type ends struct{ listen, dial string }
	all := []ends{{"127.0.0.1:0", "127.0.0.1"}, {"0.0.0.0:0", "127.0.0.2"}}
	if ln, err := net.Listen("tcp", "[::1]:0"); err == nil { // the machine has IPv6
		ln.Close()
		all = append(all, ends{"[::1]:0", "::1"}, ends{"[::]:0", "::1"}, ends{"[::]:0", "127.0.0.1"})
	}
	for _, tt := range all {
		r := start(t, Config{Listen: tt.listen})
		_, port, _ := net.SplitHostPort(r.Addr().String())
		nc, err := net.Dial("tcp", net.JoinHostPort(tt.dial, port))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		r.echo.mu.Lock()
		for e := range r.echo.live {
			if e.client.Addr != nc.LocalAddr().String() || e.client.LocalAddr != nc.RemoteAddr().String() {
				t.Errorf("listening on %s: client %q at %q, want %q at %q", tt.listen, e.client.Addr, e.client.LocalAddr,
					nc.LocalAddr(), nc.RemoteAddr())
			}
		}
		r.echo.mu.Unlock()
	}
}

// TestConnectionsInheritOptions asks the system for the options of an accepted socket.
func TestConnectionsInheritOptions(t *testing.T) {
	for _, keepAlive := range []time.Duration{7 * time.Second, -1} {
		ln, err := listenTCP("127.0.0.1:0", keepAlive)
		if err != nil {
			t.Fatal(err)
		}
		own, err := newListener(ln, keepAlive)
		if err != nil {
			t.Fatal(err)
		}
		defer own.close()
		if _, _, _, err := own.accept(); err != syscall.EAGAIN {
			t.Errorf("accept without a connection: %v, want EAGAIN", err)
		}
		nc, err := net.Dial("tcp", own.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		fd, _, _, err := own.accept()
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
		alive, idle := 1, 7
		if keepAlive < 0 {
			alive, idle = 0, 7200 // the system's
		}
		for name, o := range map[string][3]int{
			"TCP_NODELAY":  {syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
			"SO_KEEPALIVE": {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, alive},
			"TCP_KEEPIDLE": {syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, idle},
		} {
			if got, err := syscall.GetsockoptInt(fd, o[0], o[1]); err != nil || got != o[2] &&
				(keepAlive >= 0 || name != "TCP_KEEPIDLE") {
				t.Errorf("keep-alive %v: %s is %d, %v, want %d", keepAlive, name, got, err, o[2])
			}
		}
	}
}

// TestLoopsShareConnections opens connections that all loops accept, each of them for all.
func TestLoopsShareConnections(t *testing.T) {
	r := start(t, Config{Loops: 3})
	var all []net.Conn
	for range 30 {
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		all = append(all, nc)
	}
	for i, l := range r.plain.(*loops).all {
		if n := l.load.Load(); n != 10 {
			t.Errorf("loop %d has %d of %d connections, want 10", i, n, len(all))
		}
	}
}

// TestLoopsPauseAfterFailedAccepts lets a loop accept from a socket that does not listen.
func TestLoopsPauseAfterFailedAccepts(t *testing.T) {
	r := start(t, Config{Loops: 1})
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	all := r.plain.(*loops)
	broken := &loopListener{listener: &listener{fd: fd, addr: r.Addr(), path: "broken"}, to: all}
	all.all[0].submit(task{nil, func(l *loop, _ *loopConn) { l.listen(broken) }})
	until(t, "accept has failed a few times", func() bool {
		pause := make(chan backOff)
		all.all[0].submit(task{nil, func(*loop, *loopConn) { pause <- broken.backOff }})
		return <-pause > backOff(4*minBackOff)
	})
	if n := strings.Count(r.log.String(), "accept failed"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	nc := r.dial() // the other listener is watched
	send(t, nc, array("OP", "a"))
	expect(t, nc, bulk("a"))
}

// TestServerThatNeverServesReleasesItsAddresses stops servers before Serve.
func TestServerThatNeverServesReleasesItsAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	address := "127.0.0.1:0"
	for range 2 {
		s, err := New(Config{Listen: address, UnixSocket: path, NewSession: new(echoLog).session})
		if err != nil {
			t.Fatal(err)
		}
		address = s.Addr().String()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the socket's file is there after Shutdown: %v", err)
		}
	}
}
