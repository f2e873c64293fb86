package main

import (
	"strings"
	"testing"
	"time"
)

// What CONFIG SET accepts holds from then on, and is told by both names.
func TestConfigSetTakesEffect(t *testing.T) {
	r := serve(t)
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "CONFIG SET maxclients 1 loglevel debug\r\n", "+OK\r\n")
	asks(t, conn, "CONFIG GET max-clients\r\n", "*2\r\n$11\r\nmax-clients\r\n$1\r\n1\r\n")
	asks(t, conn, "CONFIG GET loglevel\r\n", "*2\r\n$8\r\nloglevel\r\n$5\r\ndebug\r\n")
	asks(t, dial(t, "tcp", r.address), "", "-ERR max number of clients reached\r\n")

	asks(t, conn, "CONFIG SET idle-timeout 200ms\r\n", "+OK\r\n")
	asks(t, conn, "CONFIG GET timeout\r\n", "*2\r\n$7\r\ntimeout\r\n$3\r\n0.2\r\n")
	began := time.Now()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("read %d bytes, %v, after %v, want the end after 200ms and a sweep", n, err, time.Since(began))
	}
	until(t, "the log says why", func() bool { return strings.Contains(r.logged(), "idle") })
}

func TestConfigSetRefuses(t *testing.T) {
	conn := dial(t, "tcp", serve(t).address)
	for _, tt := range []struct{ line, want string }{
		{"maxclients 0", "maxclients') - argument must be between 1 and 1000000 inclusive"},
		{"maxclients x", "maxclients') - argument couldn't be parsed into an integer"},
		{"timeout 5 maxclients 1000000000", "maxclients') - argument must be between 1 and 1000000 inclusive"},
		{"timeout -1", "timeout') - argument must be a duration of 0s or more, such as 60 (seconds) or 500ms"},
		{"write-timeout 0", "write-timeout') - argument must be a duration of 1ms or more, such as 60 (seconds) or 500ms"},
		{"loglevel loud", "loglevel') - argument must be one of: debug, notice, warning"},
		{"maxmemory 1", "maxmemory') - can't set immutable config"},
	} {
		asks(t, conn, "CONFIG SET "+tt.line+"\r\n", "-ERR CONFIG SET failed (possibly related to argument '"+tt.want+"\r\n")
	}
	asks(t, conn, "CONFIG GET timeout\r\n", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n")
}
