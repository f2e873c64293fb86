package main

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With either transport: messages, MONITOR, and a pause that releases its clients.
func TestPushMessages(t *testing.T) {
	for _, threads := range []string{"2", "-1"} {
		r := serve(t, "--io-threads="+threads, "--test-clock")
		listener, monitor, other := dial(t, "tcp", r.address), dial(t, "tcp", r.address), dial(t, "tcp", r.address)
		asks(t, listener, "SUBSCRIBE a\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n")
		asks(t, other, "PUBLISH a hi\r\n", ":1\r\n")
		asks(t, listener, "", "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n")

		asks(t, monitor, "MONITOR\r\n", "+OK\r\n")
		asks(t, other, "RL.TOKEN k 10 1\r\n", "*5\r\n:1\r\n:10\r\n:9\r\n:0\r\n:1000\r\n")
		line := make([]byte, 256)
		n, err := monitor.Read(line)
		if want := " [0 " + other.LocalAddr().String() +
			"] \"RL.TOKEN\" \"k\" \"10\" \"1\"\r\n"; !strings.HasSuffix(string(line[:n]), want) {
			t.Errorf("--io-threads %s: the monitor read %q, %v, want ...%q", threads, line[:n], err, want)
		}

		began := time.Now() // the pause may begin long before its reply is here
		asks(t, other, "CLIENT PAUSE 100\r\n", "+OK\r\n")
		asks(t, other, "PING\r\n", "+PONG\r\n")
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Errorf("--io-threads %s: PING took %v in a pause of 100ms", threads, took)
		}
	}
}

// A drain does not wait for a pause to end.
func TestDrainEndsPause(t *testing.T) {
	r := serve(t, "--drain", "30s")
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "CLIENT PAUSE 1000000\r\n", "+OK\r\n")
	io.WriteString(conn, "PING\r\n")
	time.Sleep(50 * time.Millisecond)
	r.Process.Signal(syscall.SIGTERM)
	asks(t, conn, "", "+PONG\r\n")
	if code := r.exit(t); code != exitOK {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
}
