package server

import (
	"log/slog"
	"net"
	"syscall"
	"testing"

	"limitsrv/commands/session"
	"time"
)

// idleLoop returns a loop that does not run.
func idleLoop(t *testing.T) *loop {
	t.Helper()
	l, err := newLoop(&env{room: new(session.Room), log: slog.New(slog.DiscardHandler)}, new(traffic))
	if err != nil {
		t.Fatal(err)
	}
	l.ended = true // so that late tasks do not wake it up
	t.Cleanup(l.poll.close)
	return l
}

// The share of new clients counts from the last wake-up that left new clients. A wake-up that
// reports no new clients has left no new clients, unless the poller could not report all.
func TestShareOfNewClientsEnds(t *testing.T) {
	for events, want := range map[int]bool{0: false, 1: false, maxEvents - 1: false, maxEvents: true} {
		l := idleLoop(t)
		l.newWaitSince = time.Now().Add(-time.Hour)
		ready := make([]syscall.EpollEvent, events)
		for i := range ready {
			ready[i].Fd = int32(l.poll.wakeFD())
		}
		l.serveReady(ready)
		if left := !l.newWaitSince.IsZero(); left != want {
			t.Errorf("after a wake-up with %d events of others new clients are left: %v, want %v", events, left, want)
		}
	}
}

// A listener that fails is paused once, also if the loop goes on to serve new clients.
func TestFailingListenerIsTriedOnce(t *testing.T) {
	l := idleLoop(t)
	broken := &loopListener{listener: &listener{fd: -1, addr: &net.TCPAddr{}}}
	l.listeners, l.readyListeners = []*loopListener{broken}, []int{broken.fd}
	for range 3 {
		l.acceptReady()
	}
	if broken.backOff != backOff(minBackOff) {
		t.Errorf("the pause is %v, want %v: accept was called again", time.Duration(broken.backOff), minBackOff)
	}
}
