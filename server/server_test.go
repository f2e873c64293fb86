package server

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// testTimeout is the time that a test waits for an event on an idle machine.
const testTimeout = 30 * time.Second

// transports are the values of Config.Loops for every test over sockets.
var transports = []struct {
	name  string
	loops int
}{{"one loop", 1}, {"three loops", 3}, {"goroutines", -1}, {"TLS", overTLS}, {"TLS in goroutines", goroutinesOverTLS}}

// Values of Config.Loops that select TLS, unless the configuration has an address already.
const (
	overTLS           = -2
	goroutinesOverTLS = -3
)

// forEachTransport runs a test with each transport.
func forEachTransport(t *testing.T, test func(t *testing.T, loops int)) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) { test(t, tr.loops) })
	}
}

// A rig is a server under test.
type rig struct {
	*Server
	t    *testing.T
	echo *echoLog
	log  *testwait.Log
}

// start starts a server with cfg on a free port, until the test ends.
func start(t *testing.T, cfg Config) *rig {
	t.Helper()
	return startWith(t, cfg, new(echoLog))
}

// startWith is start with the sessions of echo.
func startWith(t *testing.T, cfg Config, echo *echoLog) *rig {
	t.Helper()
	r := &rig{t: t, echo: echo, log: new(testwait.Log)}
	cfg = withListener(t, cfg)
	cfg.NewSession = r.echo.session
	cfg.Logger = r.log.Logger()
	var err error
	if r.Server, err = New(cfg); err != nil {
		t.Fatalf("New: %v", err)
	}
	served := make(chan struct{})
	go func() {
		r.Serve()
		close(served)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Scaled(testTimeout))
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		<-served
		if n := len(r.echo.live); n != 0 || r.Stats().Clients != 0 {
			t.Errorf("%d sessions not closed, %d clients counted after Shutdown, want 0", n, r.Stats().Clients)
		}
	})
	return r
}

// withListener adds an address to listen on to cfg, if cfg has no address.
func withListener(t *testing.T, cfg Config) Config {
	t.Helper()
	switch {
	case cfg.Listen != "" || cfg.UnixSocket != "" || cfg.TLSListen != "":
	case cfg.Loops == overTLS || cfg.Loops == goroutinesOverTLS:
		loops := 1
		if cfg.Loops == goroutinesOverTLS {
			loops = -1
		}
		cfg.TLSListen, cfg.Loops, cfg.TLS = "127.0.0.1:0", loops, fixedTLS(t)
	default:
		cfg.Listen = "127.0.0.1:0"
	}
	return cfg
}

// dial connects, over TLS if the server has no other listener.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	dial := net.Dial
	if r.Addr() == nil {
		dial = dialTLS
	}
	nc, err := dial(r.address().Network(), r.address().String())
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	r.t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(testwait.Soon(testTimeout))
	return nc
}

// address returns the address for dial.
func (r *rig) address() net.Addr {
	if r.Addr() == nil {
		return r.TLSAddr()
	}
	return r.Addr()
}

// send writes in without waiting for answers. Each send and each expect may take up to
// testTimeout.
func send(t *testing.T, nc net.Conn, in string) {
	t.Helper()
	_ = nc.SetDeadline(testwait.Soon(testTimeout))
	if _, err := nc.Write([]byte(in)); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// trickle writes in, at most size bytes at a time, until the connection ends.
func trickle(nc net.Conn, in string, size int) {
	for len(in) > 0 {
		k := min(size, len(in))
		if _, err := nc.Write([]byte(in[:k])); err != nil {
			return
		}
		in = in[k:]
	}
}

// expect reads exactly want.
func expect(t *testing.T, nc net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_ = nc.SetDeadline(testwait.Soon(testTimeout))
	n, err := io.ReadFull(nc, got)
	if err != nil || string(got) != want {
		t.Fatalf("read %d bytes %.100q, %v\nwant %d bytes %.100q", n, got[:n], err, len(want), want)
	}
}

// expectEnd reads want, and then the end of the connection.
func expectEnd(t *testing.T, nc net.Conn, want string) {
	t.Helper()
	expect(t, nc, want)
	if n, err := nc.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Fatalf("after %.100q: read %d bytes, %v, want the end", want, n, err)
	}
}

// until waits for an event.
func until(t *testing.T, event string, happens func() bool) {
	t.Helper()
	testwait.Until(t, testTimeout, event, happens)
}

func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// ownGoroutines returns the stacks of goroutines that run code of this package, except
// the test's own.
func ownGoroutines() (own []string) {
	stacks := make([]byte, 4<<20)
	all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	for _, g := range all[1:] {
		if strings.Contains(g, "limitsrv/server.") {
			own = append(own, g)
		}
	}
	return own
}

// TestMain fails if the tests leave goroutines or descriptors.
func TestMain(m *testing.M) {
	const runtimeFiles = 5 // of the runtime's poller and of fuzzing
	files := openFiles()
	code := m.Run()
	left := func() bool { return len(ownGoroutines()) > 0 || openFiles() > files+runtimeFiles }
	for deadline := testwait.Soon(testTimeout); left() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if left() {
		println("left behind: descriptors", openFiles()-files, "goroutines", strings.Join(ownGoroutines(), "\n\n"))
		code = 1
	}
	os.Exit(code)
}

func TestExchange(t *testing.T) {
	ten := strings.Repeat(array("OP", "some:key", "x"), 10000)
	large := strings.Repeat("z", 60000)
	for _, tt := range []struct {
		name, in string
		size     int // of a segment
		want     string
		end      bool
	}{
		{"one command", array("OP", "a"), 1 << 20, bulk("a"), false},
		{"an inline command", "OP a\r\n", 1 << 20, bulk("a"), false},
		{"a pipeline of 10000", ten, 1 << 20, strings.Repeat(bulk("x"), 10000), false},
		{"a pipeline of 10000 in odd segments", ten, 1009, strings.Repeat(bulk("x"), 10000), false},
		{"a command byte by byte", array("OP", "abcdefgh"), 1, bulk("abcdefgh"), false},
		{"large commands", strings.Repeat(array("OP", large), 20), 1 << 20, strings.Repeat(bulk(large), 20), false},
		{"large replies", strings.Repeat(array("BIG", "3000000"), 5), 1 << 20,
			strings.Repeat(bulk(string(make([]byte, 3000000))), 5), false},
		{"batches in flight", strings.Repeat(array("OP", "a")+array("SLOW", "b")+array("NOW", "c"), 20), 1 << 20,
			strings.Repeat(bulk("a")+bulk("b")+bulk("c"), 20), false},
		{"nothing after QUIT", array("QUIT", "a") + array("OP", "b"), 1 << 20, bulk("a"), true},
		{"a protocol error after replies", array("SLOW", "a") + "*1\r\n$9223372036854775807\r\n", 1 << 20,
			bulk("a") + "-ERR Protocol error: invalid bulk length\r\n", true},
		{"a protocol error", "*4000000000000000000\r\n", 1, "-ERR Protocol error: invalid multibulk length\r\n", true},
		{"a connection closed halfway", "*2\r\n$2\r\n", 1, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachTransport(t, func(t *testing.T, loops int) {
				r := start(t, Config{Loops: loops})
				nc := r.dial()
				go trickle(nc, tt.in, tt.size) // a large pipeline exceeds all buffers, so it must be read meanwhile
				if tt.end {
					expectEnd(t, nc, tt.want)
					return
				}
				expect(t, nc, tt.want)
				until(t, "bytes are counted", func() bool {
					st := r.Stats()
					return st.OutputBytes == int64(len(tt.want)) && st.InputBytes == int64(len(tt.in))
				})
			})
		})
	}
}
