package server

import (
	"syscall"
	"testing"
)

// However many unauthenticated connections are ready, a wake-up learns of a few, and of all
// in turn.
func TestPollerReportsFewUnauthenticated(t *testing.T) {
	var p poller
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	const ready = 3 * maxUnauthPerTurn
	for range ready {
		var pipe [2]int
		if err := syscall.Pipe2(pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(pipe[0])
		defer syscall.Close(pipe[1])
		if _, err := syscall.Write(pipe[1], []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := p.unauth.add(pipe[0], syscall.EPOLLIN); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[int32]bool{}
	for range ready / maxUnauthPerTurn {
		if events, _ := p.wait(true); len(events) != 1 || epoll(events[0].Fd) != p.unauth {
			t.Fatalf("a wake-up reports %v, want the one descriptor %d", events, p.unauth)
		}
		events := p.readyUnauth()
		if len(events) != maxUnauthPerTurn {
			t.Fatalf("%d connections are reported, want %d", len(events), maxUnauthPerTurn)
		}
		for _, e := range events {
			seen[e.Fd] = true
		}
	}
	if len(seen) != ready {
		t.Errorf("%d of %d connections were reported in turn", len(seen), ready)
	}
}
