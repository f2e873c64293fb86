package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// WAIT ends when its client disconnects and when the server shuts down.
func TestWaitIsCancelled(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*session.Session)
		want string
	}{
		{"when the client goes", (*session.Session).Close, ""},
		{"when the server drains", func(s *session.Session) { s.Handler().Drain() }, ":1|"},
	} {
		c := newFakeCluster(status.Leader)
		woken := make(chan struct{}, 1)
		s := newTestHandlerWith(session.Config{Cluster: c}).NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
		s.Do(words("WAIT 2 0"))
		tt.end(s)
		(<-c.givenUp)(1)
		if tt.want != "" {
			<-woken
			s.Resume()
		}
		if got := strings.ReplaceAll(string(s.Out), "\r\n", "|"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// An answered WAIT is cancelled as well, so that no resource remains; a WAIT after Drain
// returns the number known.
func TestWaitReleasesEverything(t *testing.T) {
	c := newFakeCluster(status.Leader)
	s := newTestHandlerWith(session.Config{Cluster: c}).NewSession(session.Client{Wake: func() {}})
	s.Do(words("WAIT 2 0"))
	c.counted(2)
	s.Resume()
	<-c.givenUp
	s.Handler().Drain()
	s.Do(words("WAIT 2 0"))
	(<-c.givenUp)(1)
	s.Resume()
	if got := string(s.Out); got != ":2\r\n:1\r\n" {
		t.Errorf("got %q, want 2 and then 1", got)
	}
}

// TestWaitsTogetherAreBounded: many clients can not wait for many long keys without end. Few keys are
// always accepted, and many when the other clients have gone.
func TestWaitsTogetherAreBounded(t *testing.T) {
	h := newTestHandler("")
	many := words("BLPOP")
	for i := range 1000 {
		many = append(many, fmt.Appendf(nil, "%1000d", i))
	}
	many = append(many, []byte("0"))
	refused := func(s *session.Session) bool {
		s.Do(many)
		s.Flush()
		defer func() { s.Out = nil }()
		if !s.Waits() && !strings.HasPrefix(string(s.Out), "-ERR too many keys to wait for: the keys of all") {
			t.Fatalf("the reply is %.100q", s.Out)
		}
		return !s.Waits()
	}
	var all []*session.Session
	accepted := 0
	for range 80 {
		s := h.NewSession(session.Client{Wake: func() {}})
		if all = append(all, s); !refused(s) {
			accepted++
		}
	}
	if accepted < 40 || accepted > 70 {
		t.Errorf("%d of %d clients wait", accepted, len(all))
	}
	last := all[len(all)-1]
	if last.Do(words("BLPOP few 0")); !last.Waits() {
		t.Errorf("few keys: %q", last.Out)
	}
	for _, s := range all[:len(all)-1] {
		s.Close()
	}
	next := h.NewSession(session.Client{Wake: func() {}})
	for range 3 {
		if refused(next) {
			t.Fatal("many keys are refused though no other client waits for many")
		}
		h.Unblock(next.ID(), false)
		next.Resume()
	}
}
