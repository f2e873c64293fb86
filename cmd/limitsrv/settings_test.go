package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// CONFIG SET takes effect at once, and CONFIG GET reports it by both names.
func TestConfigSetTakesEffect(t *testing.T) {
	r := serve(t)
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "CONFIG SET maxclients 1 loglevel debug\r\n", "+OK\r\n")
	asks(t, conn, "CONFIG GET max-clients\r\n", "*2\r\n$11\r\nmax-clients\r\n$1\r\n1\r\n")
	asks(t, conn, "CONFIG GET loglevel\r\n", "*2\r\n$8\r\nloglevel\r\n$5\r\ndebug\r\n")
	asks(t, dial(t, "tcp", r.address), "", "-ERR max number of clients reached\r\n")

	// one write, because the client may be closed as idle before a second write
	asks(t, conn, "CONFIG SET idle-timeout 200ms\r\nCONFIG GET timeout\r\n", "+OK\r\n*2\r\n$7\r\ntimeout\r\n$3\r\n0.2\r\n")
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v, want the end after 200ms and a sweep", n, err)
	}
	r.log.Await(t, "why=idle timeout=200ms")
}

// The memory bound of keys and its policy can be changed, each by both names.
func TestConfigSetBound(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	conn := dial(t, "tcp", serve(t).address)
	ask := func(key int) string {
		t.Helper()
		if _, err := fmt.Fprintf(conn, "RL.TOKEN k%d 10 1/h\r\n", key); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, 512)
		n, err := conn.Read(reply)
		if err != nil {
			t.Fatal(err)
		}
		return string(reply[:n])
	}
	asks(t, conn, "CONFIG SET maxmemory 64kb\r\n", "+OK\r\n")
	asks(t, conn, "CONFIG GET max-memory\r\n", "*2\r\n$10\r\nmax-memory\r\n$5\r\n65536\r\n")
	keys := 0
	for ; keys < 100_000 && ask(keys)[0] == '*'; keys++ {
	}
	if reply := ask(keys); !strings.HasPrefix(reply, "-OOM ") {
		t.Fatalf("key %d beyond the bound: %q, want OOM", keys, reply)
	}
	asks(t, conn, "CONFIG SET maxmemory-policy volatile-ttl\r\n", "+OK\r\n")
	asks(t, conn, "CONFIG GET on-full\r\n", "*2\r\n$7\r\non-full\r\n$5\r\nevict\r\n")
	for key := keys; key < keys+2000; key++ {
		if reply := ask(key); reply[0] != '*' {
			t.Fatalf("key %d with eviction: %q", key, reply)
		}
	}
	asks(t, conn, "CONFIG SET on-full refuse max-memory 0\r\n", "+OK\r\n")
	for key := 2 * keys; key < 4*keys; key++ {
		if reply := ask(key); reply[0] != '*' {
			t.Fatalf("key %d without a bound: %q", key, reply)
		}
	}
	if now := debug.SetMemoryLimit(-1); now != before {
		t.Errorf("heap limit without a bound = %d, want %d", now, before)
	}
}

func TestConfigSetRejects(t *testing.T) {
	conn := dial(t, "tcp", serve(t).address)
	for _, tt := range []struct{ line, want string }{
		{"maxclients 0", "maxclients') - argument must be between 1 and 1000000 inclusive"},
		{"maxclients x", "maxclients') - argument couldn't be parsed into an integer"},
		{"timeout 5 maxclients 1000000000", "maxclients') - argument must be between 1 and 1000000 inclusive"},
		{"timeout -1", "timeout') - argument must be a duration of 0s or more, such as 60 (seconds) or 500ms"},
		{"write-timeout 0", "write-timeout') - argument must be a duration of 1ms or more, such as 60 (seconds) or 500ms"},
		{"loglevel loud", "loglevel') - argument must be one of: debug, notice, warning"},
		{"io-threads 1", "io-threads') - can't set immutable config"},
		{"maxmemory x", "maxmemory') - argument must be a memory value, such as 1048576, 256mb or 1gb; 0 is no bound"},
		{"max-memory -1", "max-memory') - argument must be a memory value, such as 1048576, 256mb or 1gb; 0 is no bound"},
		{"on-full drop", "on-full') - argument must be one of: evict, refuse"},
		{"maxmemory-policy allkeys-lru", "maxmemory-policy') - argument must be one of: noeviction, volatile-ttl"},
	} {
		asks(t, conn, "CONFIG SET "+tt.line+"\r\n", "-ERR CONFIG SET failed (possibly related to argument '"+tt.want+"\r\n")
	}
	asks(t, conn, "CONFIG GET timeout\r\n", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n")
}
