package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/testing/testwait"
)

func TestClientThatNeverReads(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc, other := r.dial(), r.dial()
		go func() { _, _ = io.Copy(nc, endless(array("BIG", "100000"))) }()
		until(t, "output is blocked", func() bool {
			before := r.Stats()
			time.Sleep(20 * time.Millisecond)
			return before.OutputBytes > 0 && r.Stats() == before
		})
		send(t, other, array("OP", "a"))
		expect(t, other, bulk("a"))
		r.SetWriteTimeout(200 * time.Millisecond)
		until(t, "it is closed", func() bool { return r.echo.closed.Load() == 1 })
		if got := r.log.String(); !strings.Contains(got, "does not read its replies") {
			t.Errorf("logged %q, want the reason", got)
		}
	})
}

// endless repeats s.
func endless(s string) io.Reader { return &repeater{s: s} }

type repeater struct {
	s string
	i int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.s[r.i:])
	r.i = (r.i + n) % len(r.s)
	return n, nil
}

// A slow client that reads gets all replies.
func TestSlowClient(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc := r.dial()
		go func() { _, _ = nc.Write([]byte(strings.Repeat(array("BIG", "900000"), 20) + array("OP", "a"))) }()
		time.Sleep(50 * time.Millisecond)
		expect(t, nc, strings.Repeat(bulk(string(make([]byte, 900000))), 20)+bulk("a"))
	})
}

// An answer may be longer than OutputBytes. It was built within the bounds of answers.
func TestOutputBound(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops, Limits: Limits{OutputBytes: 1 << 20}})
		nc := r.dial()
		send(t, nc, array("BIG", "1000000"))
		expect(t, nc, bulk(string(make([]byte, 1000000))))
		send(t, nc, array("BIG", "1100000"))
		expect(t, nc, bulk(string(make([]byte, 1100000))))
	})
}

// An idle client is closed, and an active client is not. On a busy machine the active
// client may be silent for longer than it means to; then it tries again.
func TestIdleClose(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		timeout := testwait.Scaled(500 * time.Millisecond)
		testwait.Retry(t, testTimeout, func() error {
			r := start(t, Config{Loops: loops, IdleTimeout: timeout})
			busy, idle := r.dial(), r.dial()
			began := time.Now()
			reply := make([]byte, len(bulk("a")))
			for last := began; last.Sub(began) < timeout*8/5; time.Sleep(10 * time.Millisecond) {
				_, failed := busy.Write([]byte(array("OP", "a")))
				if failed == nil {
					_, failed = io.ReadFull(busy, reply)
				}
				silence := time.Since(last)
				if silence > timeout/3 { // a sweep counts from the sweep before the last command
					return fmt.Errorf("the busy client was silent for %v", silence)
				}
				if failed != nil {
					t.Fatalf("the busy client after a silence of %v: %v", silence, failed)
				}
				last = last.Add(silence)
			}
			expectEnd(t, idle, "")
			return nil
		})
	})
}

// The time of a stopped process does not count as the silence of its clients.
func TestStoppedTimeIsNotIdle(t *testing.T) {
	const interval = 25 * time.Second
	e := &env{room: new(session.Room)}
	e.idleTimeout.Store(int64(4 * interval))
	client := &conn{session: new(echo)}
	for _, passed := range []time.Duration{interval, time.Hour, interval} {
		e.advanceClock(passed, interval)
		if why, _ := e.closeReason(client); why != "" {
			t.Fatalf("%s after %v", why, time.Duration(e.clock.Load()))
		}
	}
	e.advanceClock(2*interval, interval)
	if why, timeout := e.closeReason(client); why != whyIdle || timeout != 4*interval {
		t.Errorf("reason %q, timeout %v after six intervals, want idle, %v", why, timeout, 4*interval)
	}
}

// A change of a timeout applies within the longest interval, and the interval follows it.
func TestSweepInterval(t *testing.T) {
	var s Server
	for _, tt := range []struct{ idle, write, want time.Duration }{
		{0, time.Hour, time.Second},
		{0, 2 * time.Second, 500 * time.Millisecond},
		{200 * time.Millisecond, time.Hour, 50 * time.Millisecond},
		{time.Hour, 100 * time.Millisecond, 25 * time.Millisecond},
		{time.Millisecond, time.Hour, 10 * time.Millisecond},
	} {
		s.SetIdleTimeout(tt.idle)
		s.SetWriteTimeout(tt.write)
		if got := s.sweepInterval(); got != tt.want {
			t.Errorf("idle timeout %v, write timeout %v: interval %v, want %v", tt.idle, tt.write, got, tt.want)
		}
	}
}

func TestMaxClients(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops, MaxClients: 2})
		first, second := r.dial(), r.dial()
		for _, nc := range []net.Conn{first, second} {
			send(t, nc, array("OP", "a"))
			expect(t, nc, bulk("a"))
		}
		if r.Addr() != nil {
			expectEnd(t, r.dial(), "-ERR max number of clients reached\r\n")
		} else if _, err := dialTLS("tcp", r.TLSAddr().String()); err == nil { // closed without a handshake
			t.Error("a third client has connected")
		}
		if got := r.Stats(); got.Clients != 2 || got.Connections != 3 || got.Rejected != 1 {
			t.Errorf("Stats() = %+v, want 2 clients, 3 connections, 1 rejected", got)
		}
		first.Close()
		until(t, "a client slot is free", func() bool { return r.Stats().Clients == 1 })
		nc := r.dial()
		send(t, nc, array("OP", "b"))
		expect(t, nc, bulk("b"))
	})
}

func TestPanicClosesOneConnection(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc, other := r.dial(), r.dial()
		send(t, nc, array("OP", "a")+array("PANIC"))
		expectEnd(t, nc, "")
		send(t, other, array("OP", "b"))
		expect(t, other, bulk("b"))
		until(t, "its session is closed", func() bool { return r.echo.closed.Load() == 1 })
		if got := r.log.String(); strings.Count(got, "asked for") != 1 || !strings.Contains(got, "echo_test.go") {
			t.Errorf("logged %q, want the panic once, with its stack", got)
		}
	})
}

func TestPanicInNewSession(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		panics := true
		echo := new(echoLog)
		s, err := New(withListener(t,
			Config{Loops: loops, Logger: start(t, Config{}).cfg.Logger, NewSession: func(c session.Client) Session {
				if panics {
					panics = false
					panic("no session")
				}
				return echo.session(c)
			}}))
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve()
		defer s.Shutdown(context.Background())
		r := &rig{Server: s, t: t}
		expectEnd(t, r.dial(), "")
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		nc.Close()
		until(t, "no client is counted", func() bool { return s.Stats().Clients == 0 })
	})
}

// CLIENT KILL comes from another connection, at any time.
func TestKill(t *testing.T) {
	testwait.Long(t)
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		for range 50 {
			nc := r.dial()
			send(t, nc, strings.Repeat(array("SLOW", "a"), 100))
		}
		until(t, "all are connected", func() bool {
			r.echo.mu.Lock()
			defer r.echo.mu.Unlock()
			return len(r.echo.live) == 50
		})
		r.echo.mu.Lock()
		var kills []func()
		for e := range r.echo.live {
			kills = append(kills, e.client.Close, e.client.Wake, e.client.Close)
		}
		r.echo.mu.Unlock()
		for _, kill := range kills {
			kill()
		}
		until(t, "all are closed", func() bool { return r.Stats().Clients == 0 })
		if got := r.log.String(); strings.Contains(got, "panic") {
			t.Errorf("logged %q, want no session closed twice or with a batch in flight", got)
		}
	})
}

func TestHalfClose(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc := r.dial()
		send(t, nc, array("SLOW", "a")+array("OP", "b")+"*1\r\n")
		halfClose(nc)
		expectEnd(t, nc, bulk("a")+bulk("b"))
	})
}

func TestManyConnections(t *testing.T) {
	testwait.Long(t)
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		conns := make([]net.Conn, 1000)
		for i := range conns {
			conns[i] = r.dial()
		}
		for round := range 3 {
			for i, nc := range conns {
				send(t, nc, array("OP", fmt.Sprint(i, round)))
			}
			for i, nc := range conns {
				expect(t, nc, bulk(fmt.Sprint(i, round)))
			}
		}
	})
}

// A drain answers all commands that this machine has received, also those not read yet.
func TestDrainAnswersReceivedCommands(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		var conns []net.Conn
		for range 20 {
			nc := r.dial()
			send(t, nc, array("OP", "a"))
			expect(t, nc, bulk("a"))
			send(t, nc, strings.Repeat(array("OP", "b"), 3000)+array("SLOW", "c")+array("BIG", "600000")+"*1\r\n$4\r\nha")
			conns = append(conns, nc)
		}
		for _, nc := range conns {
			untilReceived(t, nc)
		}
		down := make(chan error, 1)
		go func() { down <- r.Shutdown(context.Background()) }()
		for _, nc := range conns {
			expectEnd(t, nc, strings.Repeat(bulk("b"), 3000)+bulk("c")+bulk(string(make([]byte, 600000))))
		}
		if err := <-down; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if _, err := net.Dial("tcp", r.address().String()); err == nil {
			t.Error("connected after Shutdown, want an error")
		}
	})
}

// Under load, every executed command is answered.
func TestDrainUnderLoad(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		const depth = 8
		request := strings.Repeat(array("OP", "a"), depth)
		var replies atomic.Int64
		var clients sync.WaitGroup
		for range 20 {
			nc := r.dial()
			clients.Go(func() {
				buf := make([]byte, depth*len(bulk("a")))
				for {
					if _, err := nc.Write([]byte(request)); err != nil {
						return
					}
					n, err := io.ReadFull(nc, buf)
					replies.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
		}
		until(t, "clients get replies", func() bool { return replies.Load() > 10_000 })
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Scaled(testTimeout))
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		clients.Wait()
		if got, want := replies.Load(), r.echo.answered.Load()*int64(len(bulk("a"))); got != want || got == 0 {
			t.Errorf("clients got %d bytes of replies, sessions gave %d", got, want)
		}
	})
}

func TestDrainTimeout(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc := r.dial()
		send(t, nc, array("BIG", "40000000"))
		until(t, "output is blocked", func() bool { return r.Stats().OutputBytes > 0 || r.echo.answered.Load() > 0 })
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		err := r.Shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 connections") {
			t.Errorf("Shutdown: %v, want it to say that 1 connection was cut off", err)
		}
		if err := r.Shutdown(context.Background()); err != nil {
			t.Errorf("second Shutdown: %v, want nil", err)
		}
	})
}

// Shutdown may be called while Serve starts, and before it.
func TestShutdownDuringStart(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		for range 20 {
			cfg := withListener(t, Config{Loops: loops})
			cfg.NewSession = new(echoLog).session
			s, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() {
				s.Serve()
				close(served)
			}()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			<-served
		}
	})
}
