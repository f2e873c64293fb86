package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// answering returns a side that answers each request of 5 lines with a line.
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

// A load at a fixed rate uses all connections, and records each request once.
func TestFixedRateOverManyConnections(t *testing.T) {
	l := load{algorithm: tokenBucket, connections: 100, pipeline: 1, keys: 100, rate: 2000}
	got, err := answering(t).generate(t.Context(), l, 200*time.Millisecond, scattered(l.keys))
	if err != nil {
		t.Fatal(err)
	}
	if n := got.decisions; n < 10 || n > 500 {
		t.Errorf("generate recorded %d requests in 0.2 s at 2000 per second, want 10 to 500", n)
	}
}

func TestGenerateEndsWithTheKeys(t *testing.T) {
	l := load{algorithm: tokenBucket, connections: 3, pipeline: 4}
	got, err := answering(t).generate(t.Context(), l, time.Minute, sequential(0, 50, l.connections))
	if err != nil || got.decisions != 50 || got.perSecond <= 0 || got.worst < got.p50 {
		t.Errorf("generate = %+v, %v, want 50 decisions", got, err)
	}
}

func TestFixedRateEndsWithTheKeys(t *testing.T) {
	l := load{algorithm: tokenBucket, connections: 3, pipeline: 4, rate: 100_000}
	got, err := answering(t).generate(t.Context(), l, time.Minute, sequential(0, 50, l.connections))
	if err != nil || got.decisions != 50 {
		t.Errorf("generate at a fixed rate = %d decisions, %v, want 50", got.decisions, err)
	}
}

// Pipelines that are due while replies are outstanding follow them, each from its due time.
func TestOwedPipelinesFollowTheReplies(t *testing.T) {
	side := answering(t)
	conns, err := side.openConns(t.Context(), tokenBucket, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := newSockets(conns)
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.close()
	begin := time.Now().Add(-time.Minute)
	r := &ratedLoad{
		seen: &watcher{}, sockets: sockets, begin: begin, every: time.Second, sources: 1,
		conns: []ratedConn{{loadConn: conns[0], next: scattered(9)(0), due: begin}},
	}
	for range 3 {
		if err := r.sendDue(0); err != nil {
			t.Fatal(err)
		}
	}
	for answered := range 4 {
		c := &r.conns[0]
		if sent, owed := min(1, 3-answered), max(0, 2-answered); c.sent != sent || r.inFlight != sent || c.owed != owed {
			t.Errorf("after %d replies: %d requests in flight on %d connections, %d owed, want %d and %d", answered, c.sent,
				r.inFlight, c.owed, sent, owed)
		}
		if due := begin.Add(time.Duration(answered) * time.Second); !c.due.Equal(due) {
			t.Errorf("after %d replies: due %v later than the first one, want %d s", answered, c.due.Sub(begin), answered)
		}
		if answered < 3 {
			if err := r.received(0, []byte("+OK\r\n"), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFixedRateNamesTheServerThatCloses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 64))
			conn.Close()
		}
	}()
	s := answering(t)
	s.name, s.address = "closing", listener.Addr().String()
	l := load{algorithm: tokenBucket, connections: 2, pipeline: 1, keys: 100, rate: 1000}
	if _, err = s.generate(t.Context(), l, time.Minute, scattered(l.keys)); err == nil ||
		!strings.HasPrefix(err.Error(), "closing: ") {
		t.Errorf("generate with a server that closes connections = %v, want an error that names it", err)
	}
}

func TestOpenConnsNamesTheFailedConnection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conns, err := answering(t).openConns(ctx, tokenBucket, 1, 3)
	if err == nil || !strings.Contains(err.Error(), "connection 1 of 3") || conns != nil {
		t.Errorf("openConns with a cancelled context = %v, %v, want an error", conns, err)
	}
}

// stalling returns a server that answers each read of a request with a line, but delays the
// answer to request number stallAt. It calls done after the given number of requests.
func stalling(t *testing.T, stallAt int, stall time.Duration, requests int, done func()) *side {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 4096)
		for n := 0; ; n++ {
			if _, err := conn.Read(buf); err != nil {
				return
			}
			if n == stallAt {
				time.Sleep(stall)
			}
			if n == requests {
				done()
			}
			conn.Write([]byte(":1\r\n"))
		}
	}()
	return &side{
		process:    &process{address: listener.Addr().String()},
		replyLines: map[algorithm]int{lastingBucket: 1},
		commands:   map[algorithm][]string{lastingBucket: {"ASK", keyPlace}},
	}
}

func TestLatencyAtAFixedRateIncludesStalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var w watcher
	w.open()
	// 1000 per second are due, 200 of them in the first 200 ms of the stall; each of
	// these waits for at least 100 ms.
	s := stalling(t, 50, 300*time.Millisecond, 500, cancel)
	l := load{algorithm: lastingBucket, connections: 1, pipeline: 1, keys: 100, rate: 1000}
	if err := s.runLoad(ctx, l, &w); err != nil {
		t.Fatal(err)
	}
	if w.seen.total < 500 {
		t.Fatalf("recorded %d requests, want 500", w.seen.total)
	}
	waited := int64(0)
	for i, n := range w.seen.counts {
		if boundOf(i) >= 100*time.Millisecond {
			waited += n
		}
	}
	if waited < 150 {
		t.Errorf("%d requests waited for 100 ms, want about 200: those due during the stall", waited)
	}
}

func TestReadReplies(t *testing.T) {
	const (
		allowed = "*2\r\n:1\r\n:-1\r\n"
		full    = "-OOM no memory for a new key\r\n"
		changed = "-UNCERTAIN maybe\r\n"
	)
	for _, tt := range []struct {
		name     string
		in       string
		n, lines int
		refused  int
		want     string // substring of the error; empty: no error
	}{
		{"replies", allowed + allowed, 2, 3, 0, ""},
		{"refusals for lack of memory", allowed + full + allowed + full + full, 5, 3, 3, ""},
		{"refusals of nodes whose leader changed", changed + allowed + full + changed, 4, 3, 3, ""},
		{"only refusals", full + full, 2, 3, 2, ""},
		{"an error at the start", "-ERR no\r\n", 1, 1, 0, "error reply"},
		{"an error within", ":1\r\n-ERR no\r\n", 2, 1, 0, "error reply"},
		{"too little", ":1\r\n", 2, 1, 0, "EOF"},
	} {
		for size := 1; size <= len(tt.in); size++ {
			here, there := net.Pipe()
			go func() {
				for rest := tt.in; rest != ""; rest = rest[min(size, len(rest)):] {
					io.WriteString(there, rest[:min(size, len(rest))])
				}
				there.Close()
			}()
			refused, err := readReplies(here, make([]byte, 100), tt.n, tt.lines)
			here.Close()
			if tt.want == "" && (err != nil || refused != tt.refused) || tt.want != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s, in pieces of %d: readReplies = %d, %v, want %d, %q", tt.name, size, refused, err, tt.refused, tt.want)
			}
		}
	}
	here, there := net.Pipe()
	defer here.Close()
	go io.WriteString(there, ":1\r\n:2\r\n")
	if _, err := readReplies(here, make([]byte, 100), 1, 1); err == nil || !strings.Contains(err.Error(), "surplus") {
		t.Errorf("readReplies of a surplus reply = %v, want an error", err)
	}
}
