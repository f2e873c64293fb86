package server

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/internal/testing/testwait"
)

func TestRequireProtection(t *testing.T) {
	for _, tt := range []struct {
		name, listen, password string
		unprotected            bool
		want                   string // part of the error; empty: no error
	}{
		{"loopback", "127.0.0.1:6379", "", false, ""},
		{"another loopback", "127.8.8.8:1", "", false, ""},
		{"IPv6 loopback", "[::1]:6379", "", false, ""},
		{"localhost", "localhost:6379", "", false, ""},
		{"no address", "", "", false, ""},
		{"all addresses", "0.0.0.0:6379", "", false,
			`--listen "0.0.0.0:6379" can be reached from other machines: pay a guard`},
		{"no host is all addresses", ":6379", "", false, "pay a guard"},
		{"all IPv6 addresses", "[::]:6379", "", false, "pay a guard"},
		{"another machine's network", "192.0.2.1:6379", "", false, "pay a guard"},
		{"a password", "0.0.0.0:6379", "secret", false, ""},
		{"unprotected on purpose", "0.0.0.0:6379", "", true, ""},
		{"no port", "127.0.0.1", "", false, "HOST:PORT"},
	} {
		err := RequireProtection("--listen", tt.listen, tt.password != "" || tt.unprotected, "pay a guard")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: RequireProtection of %q, password %q, unprotected %v = %v, want %q in it", tt.name, tt.listen,
				tt.password, tt.unprotected, err, tt.want)
		}
	}
}

func TestPortInUse(t *testing.T) {
	addr := start(t, Config{}).Addr().String()
	_, err := New(Config{Listen: addr})
	if !errors.Is(err, syscall.EADDRINUSE) || err.Error() != "listen on "+addr+": address already in use" {
		t.Errorf("New on a port in use: %v", err)
	}
}

func TestInvalidConfig(t *testing.T) {
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Listen: "127.0.0.1:0", Limits: Limits{Limits: resp.Limits{Args: -1}}},
			"limit of arguments per command: must be 1 to 2147483647, is -1"},
		{Config{Listen: "127.0.0.1:99999"}, "127.0.0.1:99999"},
		{Config{TLSListen: "127.0.0.1:0"}, "requires a certificate"},
		{Config{TLSListen: "127.0.0.1:99999", TLS: fixedTLS(t)}, "127.0.0.1:99999"},
		{Config{UnixSocket: "listen.go"}, "not a socket"},
		{Config{UnixSocket: "no/such/dir/s"}, "no/such/dir/s"},
	} {
		if _, err := New(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%+v) = %v, want %q in it", tt.cfg, err, tt.want)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		path := filepath.Join(t.TempDir(), "s")
		stale, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		stale.Close()

		r := start(t, Config{Loops: loops, UnixSocket: path})
		info, err := os.Stat(path)
		if err != nil || info.Mode() != fs.ModeSocket|0o700 {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, fs.ModeSocket|0o700)
		}
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		r.echo.mu.Lock()
		for e := range r.echo.live {
			if e.client.Addr != path+":0" || e.client.LocalAddr != path+":0" {
				t.Errorf("client %q at %q, want both %q", e.client.Addr, e.client.LocalAddr, path+":0")
			}
		}
		r.echo.mu.Unlock()
		if _, err := New(Config{UnixSocket: path}); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("New on a live socket: %v, want address already in use", err)
		}
		send(t, nc, array("OP", "b"))
		expect(t, nc, bulk("b"))
	})
}

// If accept fails for lack of descriptors it is retried with a pause, and logged once.
func TestAcceptBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(testwait.Log)
		ln := &failingListener{last: time.Now()}
		a := &acceptor{env: &env{log: log.Logger(), closing: make(chan struct{})}}
		if err := a.listen(ln); err != nil {
			t.Fatal(err)
		}
		a.accept()
		time.Sleep(10 * time.Second)
		a.unlisten()
		want := []time.Duration{0, 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000} // milliseconds
		for i, ms := range want {
			want[i] = ms * time.Millisecond
		}
		if got := ln.pauses; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("pauses %v, want %v ...", got, want)
		}
		if n := strings.Count(log.String(), "accept failed"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
	})
}

// A failingListener has no descriptors for connections.
type failingListener struct {
	closed atomic.Bool
	last   time.Time       // the last call of Accept
	pauses []time.Duration // before each call
}

func (f *failingListener) Accept() (net.Conn, error) {
	if f.closed.Load() {
		return nil, net.ErrClosed
	}
	now := time.Now()
	f.pauses = append(f.pauses, now.Sub(f.last))
	f.last = now
	return nil, syscall.EMFILE
}

func (f *failingListener) Addr() net.Addr { return new(net.TCPAddr) }

func (f *failingListener) Close() error {
	f.closed.Store(true)
	return nil
}
