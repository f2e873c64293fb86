package server

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
)

// newTestConn returns a connection without a socket that has received in, and the state of its
// session. Its processor's time is as long as its commands say, or zero if it is idle.
func newTestConn(in string, idle bool) (*conn, *echoLog) {
	log := new(echoLog)
	s := log.session(session.Client{}).(*echo)
	c := &conn{session: s, limits: &DefaultLimits, threadTime: s.Spent}
	if idle {
		c.threadTime = func() int64 { return 0 }
	}
	c.fill(in)
	return c, log
}

func (c *conn) fill(in string) {
	for len(in) > 0 {
		n := copy(c.in.Space(), in)
		c.in.Filled(n)
		in = in[n:]
	}
}

// costs returns n commands that take so many microseconds each.
func costs(n, micros int) string {
	return strings.Repeat(array("COST", strconv.Itoa(micros)), n)
}

// A turn ends after the command that uses up its time.
func TestTurnEnds(t *testing.T) {
	const micros = int(turnTime / time.Microsecond)
	for _, tt := range []struct {
		name         string
		in           string
		turns, after int64 // turns, and commands answered after the first
	}{
		{"cheap commands", costs(64, 1), 1, 64},
		{"commands of half the time", costs(64, micros/2), 33, 2}, // the last finds no command
		{"commands of more than the time", costs(10, 2*micros), 11, 1},
	} {
		c, log := newTestConn(tt.in, true)
		c.known = true
		turns := int64(1)
		for next := c.advance(batchOps); next != wantInput; next = c.advance(batchOps) {
			if turns == 1 && log.answered.Load() != tt.after {
				t.Errorf("%s: %d answered in the first turn, want %d", tt.name, log.answered.Load(), tt.after)
			}
			if next != wantWrite {
				t.Fatalf("%s: advance returned %d, want %d", tt.name, next, wantWrite)
			}
			turns++
		}
		if turns != tt.turns {
			t.Errorf("%s: %d turns, want %d", tt.name, turns, tt.turns)
		}
	}
}

// A connection with slow turns is heavy, unless it only waited for a processor.
func TestSlowIsHeavy(t *testing.T) {
	const second = int64(time.Second)
	for _, idle := range []bool{false, true} {
		c, _ := newTestConn("", idle)
		turn := func(now int64, in string) {
			c.fill(in)
			c.weigh(now, 0, c.advance(batchOps))
		}
		turn(second, array("OP", "x"))
		for i, want := range []bool{false, true, true} {
			turn(second, costs(1, 1000))
			if got, want := c.heavyUntil != 0, want && !idle; got != want {
				t.Errorf("waits for a processor: %v: after %d slow turns it is heavy: %v, want %v", idle, i+1, got, want)
			}
		}
		turn(2*second, array("OP", "x"))
		if got := c.heavyUntil != 0; got == idle {
			t.Errorf("waits for a processor: %v: after a light turn it is heavy: %v", idle, got)
		}
		turn(second+int64(heavyFor), array("OP", "x"))
		if c.heavyUntil != 0 {
			t.Errorf("waits for a processor: %v: after a light turn at the end of its time it is heavy", idle)
		}
	}
}

// If the first command of a connection may be long, other connections have their turns
// before it.
func TestFirstTurnWaits(t *testing.T) {
	c, log := newTestConn(costs(2, 1), false)
	if next := c.advance(batchOps); next != wantTurn || log.answered.Load() != 0 {
		t.Errorf("advance returned %d after %d commands, want %d after none", next, log.answered.Load(), wantTurn)
	}
	if next := c.advance(batchOps); next != wantInput || log.answered.Load() != 2 {
		t.Errorf("then advance returned %d after %d commands, want %d after 2", next, log.answered.Load(), wantInput)
	}
}

// The first command of a connection may be long on any transport.
func TestLongFirstCommand(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		for range 3 {
			nc := r.dial()
			send(t, nc, array("COST", "7")+array("OP", "x"))
			expect(t, nc, bulk("7")+bulk("x"))
		}
	})
}

// A gate admits in order, and gives new and known connections the same time.
func TestGate(t *testing.T) {
	const known, new = knownClients, newClients
	g := &gate{free: 1}
	g.enter(known, nil)
	type client struct{ list, number int }
	var waiting []client
	admitted := map[client]chan struct{}{}
	enter := func(c client) {
		admitted[c] = make(chan struct{}, 1)
		g.waiting[c.list] = append(g.waiting[c.list], admitted[c])
		waiting = append(waiting, c)
	}
	for i := range 3 {
		enter(client{known, i})
	}
	for i := range 5 {
		enter(client{new, i})
	}
	last := known
	for i, want := range []client{{new, 0}, {new, 1}, {new, 2}, {known, 0}, {new, 3}, {new, 4}, {known, 1}, {known, 2}} {
		g.leave(last, map[int]int64{known: 2, new: 1}[last])
		last = want.list
		select {
		case <-admitted[want]:
		default:
			t.Fatalf("%v is not admitted as number %d of %v", want, i, waiting)
		}
	}
	if g.leave(known, 1); g.free != 1 {
		t.Errorf("%d may enter behind the last, want 1", g.free)
	}
}

// A client is not idle if a command of it has arrived when its time is over.
func TestUnreadIsNotIdleInGoroutines(t *testing.T) {
	for _, sends := range []bool{true, false} {
		r := start(t, Config{Loops: -1})
		g := r.plain.(*goroutines)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		s := &socket{Conn: nc}
		c := &goConn{nc: s, socket: s}
		c.session, c.limits, c.traffic, c.gauges.fd = new(echo), &DefaultLimits, &g.traffic[0], descriptor(nc)
		if sends {
			send(t, client, array("OP", "a"))
			until(t, "it has arrived", func() bool { return hasUnread(c.gauges.fd) })
		}
		r.SetIdleTimeout(time.Hour)
		g.conns[c] = struct{}{}
		c.reading.Store(true)
		c.active.Store(r.clock.Load())
		r.clock.Add(int64(2 * time.Hour))
		g.sweep()
		delete(g.conns, c)
		if err := g.await(c); (err == nil) != sends || c.in.HasInput() != sends {
			t.Errorf("a command has arrived: %v: read returned %v, and has one: %v", sends, err, c.in.HasInput())
		}
	}
}

// Heavy clients with goroutines have a turn at a time, and other clients do not wait for them.
func TestHeavyGoroutinesTakeTurns(t *testing.T) {
	const heavy = 5
	r := startWith(t, Config{Loops: -1}, &echoLog{barrier: make(chan struct{})})
	g := &r.plain.(*goroutines).gate
	g.free = 1
	waiting := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting[knownClients])
	}
	light := r.dial()
	send(t, light, array("OP", "x"))
	expect(t, light, bulk("x"))
	var all []net.Conn
	for range heavy {
		nc := r.dial()
		send(t, nc, array("BIG", strconv.Itoa(heavyBytes)))
		expect(t, nc, bulk(string(make([]byte, heavyBytes))))
		all = append(all, nc)
	}
	for _, nc := range all {
		send(t, nc, array("BARRIER"))
	}
	for left := heavy - 1; left >= 0; left-- {
		<-r.echo.barrier
		until(t, "the others wait", func() bool { return waiting() == left })
		send(t, light, array("OP", "x"))
		expect(t, light, bulk("x"))
		r.echo.barrier <- struct{}{}
	}
	for _, nc := range all {
		expect(t, nc, bulk("BARRIER"))
	}
}
