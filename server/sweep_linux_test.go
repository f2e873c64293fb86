package server

import (
	"log/slog"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"limitsrv/commands/session"
)

// A sweep wakes up only a loop with a connection that may be overdue.
func TestSweepWakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		conns   int64
		idle    time.Duration // timeout
		waiting int64         // bytes of output
		want    int           // tasks of the loop
	}{
		{"no client", 0, 0, 0, 0},
		{"no client, which might be silent", 0, time.Minute, 0, 0},
		{"a client that may be silent", 1, 0, 0, 0},
		{"a client that may not", 1, time.Minute, 0, 1},
		{"a client that does not read", 1, 0, 100, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &env{room: new(session.Room)}
			e.idleTimeout.Store(int64(tt.idle))
			e.room.Add(tt.waiting)
			l, err := newLoop(e, new(traffic)) // it does not run, so its tasks stay
			if err != nil {
				t.Fatal(err)
			}
			defer l.poll.close()
			l.load.Store(tt.conns)
			(&loops{env: e, all: []*loop{l}}).sweep()
			if len(l.tasks) != tt.want {
				t.Errorf("%d tasks were submitted, want %d", len(l.tasks), tt.want)
			}
		})
	}
}

// Overdue connections are not closed at once but queued, and a connection that has taken
// its replies before its turn stays open.
func TestSweepQueues(t *testing.T) {
	e := &env{room: new(session.Room), log: slog.New(slog.DiscardHandler)}
	e.writeTimeout.Store(int64(time.Second))
	e.clock.Store(int64(time.Minute))
	l, err := newLoop(e, new(traffic))
	if err != nil {
		t.Fatal(err)
	}
	defer l.poll.close()
	sessions := new(echoLog)
	for range 3 {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(ends[1])
		c := &loopConn{conn: conn{session: sessions.session(session.Client{}), limits: new(Limits), traffic: l.traffic},
			fd: ends[0]}
		c.blocked.Store(1)
		l.conns = append(l.conns, c)
	}
	all := slices.Clone(l.conns)
	l.sweep(nil)
	for i, c := range all {
		if c.closed || !c.queued {
			t.Errorf("after the sweep, connection %d is closed: %v, queued: %v; want it queued", i, c.closed, c.queued)
		}
	}
	all[1].blocked.Store(0)
	for len(l.runQueue) > 0 {
		l.serveQueued()
	}
	for i, c := range all {
		if want := i != 1; c.closed != want {
			t.Errorf("connection %d is closed: %v, want %v", i, c.closed, want)
		}
	}
	l.close(all[1])
}

// A client is not idle if its commands have arrived while the loop was busy.
func TestUnreadIsNotIdle(t *testing.T) {
	r := startWith(t, Config{Loops: 1}, &echoLog{barrier: make(chan struct{})})
	blocker := r.dial()
	var others []net.Conn
	for range 5 * maxUnauthPerTurn { // more than are served before the sweep
		others = append(others, r.dial())
	}
	until(t, "all are accepted", func() bool { return r.Stats().Clients == int64(len(others)+1) })
	send(t, blocker, array("BARRIER"))
	<-r.echo.barrier
	for _, nc := range others {
		send(t, nc, array("OP", "a"))
	}
	r.passIdle()
	r.echo.barrier <- struct{}{}
	for _, nc := range others {
		expect(t, nc, bulk("a"))
	}
}

// A client is not idle while its commands wait in the queue of its loop.
func TestQueuedIsNotIdle(t *testing.T) {
	e := &env{room: new(session.Room)}
	e.idleTimeout.Store(int64(time.Second))
	e.clock.Store(int64(time.Minute))
	c := &loopConn{conn: conn{session: new(echo)}, queued: true}
	l := &loop{env: e, conns: []*loopConn{c}}
	if l.sweep(nil); c.overdue {
		t.Error("it is overdue")
	}
	c.queued = false
	if l.sweep(nil); !c.overdue {
		t.Error("a client without commands is not overdue")
	}
}
