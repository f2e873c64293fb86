package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
)

// sendBigCommands requests n replies of so many bytes, each after a reply with the number
// of replies so far.
func sendBigCommands(t *testing.T, nc net.Conn, n, bytes int) {
	t.Helper()
	send(t, nc, strings.Repeat(array("COUNT")+array("BIG", fmt.Sprint(bytes)), n))
}

// readBigReplies reads them, after the given number of earlier replies, and checks that no
// reply is missing.
func readBigReplies(t *testing.T, in *bufio.Reader, after, n, bytes int) {
	t.Helper()
	for i := after + 1; i < after+2*n; i += 2 {
		if count, err := readBulk(in); err != nil || count != fmt.Sprint(i) {
			t.Fatalf("reply %d: %q, %v", i, count, err)
		}
		if big, err := readBulk(in); err != nil || len(big) != bytes {
			t.Fatalf("reply %d: %d bytes, %v", i+1, len(big), err)
		}
	}
}

// A pipeline sent whole before a reply is read is executed, and its replies come in
// order, also if the client has closed its sending side, and with batches in flight.
func TestPipelineSentBeforeReading(t *testing.T) {
	const half, bytes = 1000, 20_000 // more than sockets hold
	for _, middle := range []string{"OP", "SLOW"} {
		t.Run(middle, func(t *testing.T) {
			r, counter := startWithCommits(t, Config{Loops: 1, WriteTimeout: time.Minute})
			nc := r.dial()
			sendBigCommands(t, nc, half, bytes)
			send(t, nc, array(middle, "x"))
			sendBigCommands(t, nc, half, bytes)
			nc.(*net.TCPConn).CloseWrite()
			until(t, "all is executed", func() bool { return counter.echo.answered.Load() == 4*half+1 })
			in := bufio.NewReader(nc)
			readBigReplies(t, in, 0, half, bytes)
			if reply, err := readBulk(in); reply != "x" || err != nil {
				t.Fatalf("in the middle: %q, %v", reply, err)
			}
			readBigReplies(t, in, 2*half+1, half, bytes)
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("behind the replies: %v, want the end", err)
			}
			until(t, "no output is unsent", func() bool { return r.room.Used() == 0 })
		})
	}
}

// The unsent output of all clients is bounded: beyond that a client is not read from
// until it reads.
func TestUnsentOutputIsBounded(t *testing.T) {
	const commands, bytes = 150, 1 << 20
	r, counter := startWithCommits(t, Config{Loops: 1, WriteTimeout: time.Minute})
	nc := r.dial()
	sendBigCommands(t, nc, commands, bytes)
	until(t, "the bound is reached", func() bool { return r.room.Used() >= session.RoomBytes })
	other := r.dial()
	send(t, other, array("OP", "x"))
	expect(t, other, bulk("x"))
	if n, answered := r.room.Used(),
		counter.echo.answered.Load(); n > session.RoomBytes+2*bytes || answered >= 2*commands {
		t.Errorf("%d bytes wait after %d of %d commands, want at most %d", n, answered, 2*commands, session.RoomBytes)
	}
	in := bufio.NewReader(nc)
	for i := range 2 * commands {
		if _, err := readBulk(in); err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
	}
	until(t, "no output is unsent", func() bool { return r.room.Used() == 0 })
}

// A client that never reads is closed, below any bound of its output.
func TestUnsentOutputTimesOut(t *testing.T) {
	r, _ := startWithCommits(t, Config{Loops: 1, WriteTimeout: 50 * time.Millisecond})
	nc := r.dial()
	sendBigCommands(t, nc, 1000, 20_000)
	until(t, "it is closed", func() bool { return r.Stats().Clients == 0 && r.Stats().Connections == 1 })
	if n := r.room.Used(); n != 0 {
		t.Errorf("%d bytes are counted as unsent", n)
	}
}

// An unauthenticated client with a backlog is not read from.
func TestNoUnsentOutputBeforeLogin(t *testing.T) {
	const commands, bytes = 1500, 20_000
	r, counter := startWithCommits(t, Config{Loops: 1, WriteTimeout: 500 * time.Millisecond})
	counter.echo.password.Store(true)
	nc := r.dial()
	sendBigCommands(t, nc, commands, bytes)
	until(t, "it is closed", func() bool { return r.Stats().Clients == 0 && r.Stats().Connections == 1 })
	if n := counter.echo.answered.Load(); n == 2*commands {
		t.Errorf("all of %d commands were executed, with %d MB of replies", n, commands*bytes>>20)
	}
}

// A client that leaves too many replies unread keeps its further commands, while other
// clients send bytes of their own.
func TestClientBeyondItsOutputKeepsItsCommands(t *testing.T) {
	const commands, bytes = 11, 1 << 20 // the commands fit the reader's tail
	r, counter := startWithCommits(t, Config{Loops: 1, WriteTimeout: time.Minute, Limits: Limits{OutputBytes: 2 * bytes}})
	nc := r.dial()
	sendBigCommands(t, nc, commands, bytes)
	until(t, "the client is not executed any more", func() bool {
		before := counter.echo.answered.Load()
		time.Sleep(20 * time.Millisecond)
		return r.room.Used() >= 2*bytes && counter.echo.answered.Load() == before
	})
	if n := counter.echo.answered.Load(); n >= 2*commands {
		t.Fatalf("all %d commands are answered, the bound is not reached", n)
	}
	other := r.dial()
	for range 10 {
		send(t, other, array("OP", strings.Repeat("\n", 1000)))
		expect(t, other, bulk(strings.Repeat("\n", 1000)))
	}
	in := bufio.NewReader(nc)
	for i := range commands {
		if _, err := readBulk(in); err != nil {
			t.Fatalf("count %d: %v", i, err)
		}
		if big, err := readBulk(in); err != nil || len(big) != bytes {
			t.Fatalf("reply %d: %d bytes, %v", i, len(big), err)
		}
	}
}

// A client's commands continue if a write that is not for the client's own event takes the rest of
// its backlog, such as the write of a message.
func TestCommandsContinueAfterAnyWrite(t *testing.T) {
	const commands, bytes = 11, 1 << 20 // the commands fit the reader's tail
	r, counter := startWithCommits(t, Config{Loops: 1, WriteTimeout: time.Minute, Limits: Limits{OutputBytes: 2 * bytes}})
	nc := r.dial()
	sendBigCommands(t, nc, commands, bytes)
	until(t, "the bound is reached", func() bool { return r.room.Used() >= 2*bytes })
	written := make(chan bool)
	r.plain.(*loops).all[0].submit(task{nil, func(l *loop, _ *loopConn) {
		for _, c := range l.conns {
			for c != nil && c.blocked.Load() != 0 {
				l.queueWrite(c)
				l.flush()
				time.Sleep(time.Millisecond)
			}
		}
		close(written)
	}})
	readBigReplies(t, bufio.NewReader(nc), 0, commands, bytes)
	<-written
	if n := counter.echo.answered.Load(); n != 2*commands {
		t.Errorf("%d commands are answered, want %d", n, 2*commands)
	}
}
