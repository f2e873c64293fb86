package main

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// stalling returns a server that answers each read of one request with a line, but
// delays the one numbered stallAt. It calls done after the given number of requests.
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

func TestSteadyLatencyIncludesStalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var w watcher
	w.open()
	// 1000 per second are due, 200 of them in the first 200 ms of the stall; each of
	// these waits for at least 100 ms.
	s := stalling(t, 50, 300*time.Millisecond, 500, cancel)
	if err := runSteady(ctx, s, load{lastingBucket, uniform, 1, 1, 100}, 1000, &w); err != nil {
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

func TestScatteredStaysWithinAndRepeats(t *testing.T) {
	a, b, other := scattered(10)(1), scattered(10)(1), scattered(10)(2)
	same := true
	for range 100 {
		x, ok := a()
		y, _ := b()
		z, _ := other()
		if !ok || x < 0 || x >= 10 || x != y {
			t.Fatalf("scattered(10) drew %d and %d", x, y)
		}
		same = same && x == z
	}
	if same {
		t.Error("two connections have the same sequence of keys")
	}
}

func TestAlongside(t *testing.T) {
	errWork, errOther := errors.New("work"), errors.New("other")
	for _, tt := range []struct {
		name              string
		work, other, want error
	}{
		{"all is well", nil, nil, nil},
		{"the work fails", errWork, nil, errWork},
		{"another fails", nil, errOther, errOther},
		{"both fail", errWork, errOther, errWork},
	} {
		err := alongside(t.Context(), func() error { return tt.work }, func(ctx context.Context) error {
			<-ctx.Done()
			return tt.other
		})
		if err != tt.want {
			t.Errorf("%s: alongside = %v, want %v", tt.name, err, tt.want)
		}
	}
}
