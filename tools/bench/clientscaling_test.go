package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// answering returns a side that answers each request of 5 lines with one line.
func answering(t *testing.T) *side {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					for range 5 {
						if _, err := in.ReadString('\n'); err != nil {
							return
						}
					}
					io.WriteString(conn, "+OK\r\n")
				}
			}()
		}
	}()
	return &side{
		process:    &process{address: listener.Addr().String()},
		name:       "answering",
		commands:   map[algorithm][]string{tokenBucket: {"GET", keyPlace}},
		replyLines: map[algorithm]int{tokenBucket: 1},
	}
}

// callInTurns uses all connections, records each request once, and leaves no request
// unanswered.
func TestCallInTurns(t *testing.T) {
	s := answering(t)
	conns, err := connectMany(t.Context(), s, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(conns)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var w watcher
	w.open()
	if err := callInTurns(ctx, s, conns, load{algorithm: tokenBucket, keys: 100}, 2000, &w); err != nil {
		t.Fatal(err)
	}
	if n := w.seen.total; n < 10 || n > 500 {
		t.Errorf("callInTurns recorded %d requests in 0.2 s at 2000 per second, want 10 to 500", n)
	}
}

func TestConnectManyNamesTheFailedConnection(t *testing.T) {
	s := answering(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conns, err := connectMany(ctx, s, 3); err == nil || conns != nil {
		t.Errorf("connectMany with a cancelled context = %v, %v, want an error", conns, err)
	}
}

// Concurrent users restore GOMAXPROCS in any order.
func TestMoreProcessorsIsUndone(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	first := moreProcessors(2)
	second := moreProcessors(3)
	first()
	if n := runtime.GOMAXPROCS(0); n != before+3 {
		t.Errorf("%d processors, want %d", n, before+3)
	}
	second()
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d processors at the end, want %d", n, before)
	}
}
