package server

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/internal/testing/testwait"
)

// A command waits for another client. The replies before it are written at once, commands
// after it wait, and the connection is neither idle nor in the way of other connections.
func TestWait(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		idle := testwait.Scaled(100 * time.Millisecond)
		r := start(t, Config{Loops: loops})
		waiting := r.dial()
		send(t, waiting, array("OP", "before")+array("WAIT", "done")+array("OP", "behind")+"*2\r\n$2\r\nOP\r\n$3\r\nab")
		expect(t, waiting, bulk("before"))
		send(t, waiting, "c\r\n"+array("OP", "last"))
		r.SetIdleTimeout(idle)
		expectEnd(t, r.dial(), "") // of a client that is idle
		r.SetIdleTimeout(0)        // on a busy machine the other clients may be silent for long
		send(t, r.dial(), array("PUBLISH", "x"))
		expect(t, waiting, bulk("done")+bulk("behind")+bulk("abc")+bulk("last"))
		send(t, waiting, array("WAIT", "again"))
		until(t, "it waits again", func() bool { return r.echo.waiting() == 1 })
		send(t, r.dial(), array("PUBLISH", "x"))
		expect(t, waiting, bulk("again"))
	})
}

// A batch may be in flight for longer than the idle timeout: its client gets the reply.
func TestBatchInFlightIsNotIdle(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		echo := &echoLog{barrier: make(chan struct{})}
		r := startWith(t, Config{Loops: loops}, echo)
		nc := r.dial()
		send(t, nc, array("HOLD", "x"))
		<-echo.barrier
		r.SetIdleTimeout(testwait.Scaled(100 * time.Millisecond))
		expectEnd(t, r.dial(), "") // of a client that is idle
		r.SetIdleTimeout(0)
		echo.barrier <- struct{}{}
		expect(t, nc, bulk("x"))
	})
}

// The time of a command that blocks its goroutine or loop does not make its client idle.
func TestLongCommandIsNotIdle(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := startWith(t, Config{Loops: loops}, &echoLog{barrier: make(chan struct{})})
		nc := r.dial()
		send(t, nc, array("BARRIER"))
		<-r.echo.barrier
		r.passIdle()
		r.echo.barrier <- struct{}{}
		expect(t, nc, bulk("BARRIER"))
		r.expectServed(nc)
	})
}

// A client is not idle while it takes a large reply.
func TestLongReplyIsNotIdle(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		const big = 30_000_000 // more than sockets hold
		r := start(t, Config{Loops: loops, WriteTimeout: 1000 * time.Hour})
		nc := r.dial()
		send(t, nc, array("BIG", strconv.Itoa(big)))
		expect(t, nc, "$")
		r.passIdle()
		expect(t, nc, bulk(string(make([]byte, big)))[1:])
		r.expectServed(nc)
	})
}

// passIdle sets an idle timeout, lets it pass by the server's clock, and sweeps.
func (r *rig) passIdle() {
	const timeout = 100 * time.Hour
	r.SetIdleTimeout(timeout)
	r.clock.Add(int64(2 * timeout))
	r.sweepAll()
}

func (r *rig) sweepAll() {
	for _, t := range r.transports() {
		t.sweep()
	}
}

// expectServed asserts that sweeps leave a client open.
func (r *rig) expectServed(nc net.Conn) {
	r.t.Helper()
	for range 10 {
		r.sweepAll()
		send(r.t, nc, array("OP", "served"))
		expect(r.t, nc, bulk("served"))
	}
}

// The session of a client that goes while it waits is closed, even if commands follow the
// waiting command.
func TestWaitingClientGoes(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		for i, behind := range []string{"", array("OP", "behind"), strings.Repeat(array("OP", "behind"), 1000)} {
			nc := r.dial()
			send(t, nc, array("WAIT", "x")+behind)
			until(t, "it waits", func() bool { return r.echo.waiting() == 1 })
			nc.Close()
			until(t, "its session is closed", func() bool { return r.echo.closed.Load() == int64(i+1) })
		}
	})
}

// A client that sends too much after a waiting command is closed.
func TestWaitingClientSendsOn(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops, Limits: Limits{Limits: resp.Limits{QueryBytes: 64 << 10}}})
		nc := r.dial()
		send(t, nc, array("WAIT", "x")+strings.Repeat(array("OP", strings.Repeat("y", 1000)), 50))
		until(t, "it waits", func() bool { return r.echo.waiting() == 1 })
		r.echo.publish(nil)
		expect(t, nc, bulk("x")+strings.Repeat(bulk(strings.Repeat("y", 1000)), 50))
		send(t, nc, array("WAIT", "x"))
		go func() { _, _ = io.WriteString(nc, strings.Repeat(array("OP", strings.Repeat("y", 1000)), 1000)) }()
		until(t, "its session is closed", func() bool { return r.echo.closed.Load() == 1 })
	})
}

// A drain lets the waiting command end, and answers the commands after it.
func TestDrainWaits(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc := r.dial()
		send(t, nc, array("WAIT", "x")+array("OP", "behind"))
		until(t, "it waits", func() bool { return r.echo.waiting() == 1 })
		r.echo.publish(nil) // as Handler.Drain does
		go func() { _ = r.Shutdown(t.Context()) }()
		expectEnd(t, nc, bulk("x")+bulk("behind"))
	})
}
