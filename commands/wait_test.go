package commands

import (
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
