package commands

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/session"
	"limitsrv/engine"
)

// A listener is a session with the calls of its transport.
type listener struct {
	*session.Session
	woken, closed int
}

func newListener(h *session.Handler, outputBytes int) *listener {
	l := &listener{}
	l.Session = h.NewSession(session.Client{
		Addr: "127.0.0.1:1", Wake: func() { l.woken++ }, Close: func() { l.closed++ }, OutputBytes: outputBytes,
	})
	return l
}

// received returns and removes the pushed messages.
func (l *listener) received() string {
	l.Resume()
	return ask(l.Session)
}

func TestPushesWakeOnce(t *testing.T) {
	h := newTestHandler("")
	l, other := newListener(h, 0), h.NewSession(session.Client{})
	ask(l.Session, "SUBSCRIBE a")
	for range 2 {
		ask(other, "PUBLISH a x", "PUBLISH a y")
		if l.woken != 1 {
			t.Errorf("woken %d times for two pushes, want once", l.woken)
		}
		const each = "*3|$7|message|$1|a|$1|"
		if got, want := l.received(), each+"x|"+each+"y|"; got != want {
			t.Errorf("received %s, want %s", got, want)
		}
		l.woken = 0
	}
	if got := l.received(); got != "" || l.woken != 0 {
		t.Errorf("received %s, woken %d times, want nothing more", got, l.woken)
	}
}

// A client that does not read is closed, and no other session waits for it.
func TestPushesAreBounded(t *testing.T) {
	h := newTestHandler("")
	l, other := newListener(h, 10_000), h.NewSession(session.Client{Addr: "127.0.0.1:2"})
	ask(l.Session, "MONITOR")
	for range 1000 {
		ask(other, "PING "+strings.Repeat("x", 100))
	}
	if l.closed != 1 || l.woken != 1 {
		t.Errorf("closed %d times, woken %d times, want once each", l.closed, l.woken)
	}
	if n := len(l.received()); n == 0 || n > 10_000 {
		t.Errorf("%d bytes were kept, want at most 10000", n)
	}
	l.Session.Close()
	ask(other, "PING")
}

func TestClosedListenersAreForgotten(t *testing.T) {
	h := newTestHandler("")
	l := newListener(h, 0)
	ask(l.Session, "SUBSCRIBE a b", "PSUBSCRIBE c*")
	if got := h.Hub().Sizes(); got != (session.HubSizes{Channels: 2, Patterns: 1, Clients: 1}) || !l.Listening() {
		t.Errorf("sizes %+v, Listening() = %v", got, l.Listening())
	}
	l.Session.Close()
	if got := h.Hub().Sizes(); got != (session.HubSizes{}) {
		t.Errorf("sizes %+v after Close, want none", got)
	}
	if got := ask(h.NewSession(session.Client{}), "PUBLISH a x"); got != ":0|" || l.woken != 0 {
		t.Errorf("PUBLISH: %s, woken %d times", got, l.woken)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	s := newTestHandler("").NewSession(session.Client{})
	long := strings.Repeat("x", engine.MaxChannelBytes+1)
	for _, line := range []string{"SUBSCRIBE " + long, "PSUBSCRIBE " + long, "PUBLISH " + long + " x",
		"PUBSUB CHANNELS " + long} {
		if got := ask(s, line); !strings.HasPrefix(got, "-ERR names of channels") {
			t.Errorf("a long name, %.16s: %s", line, got)
		}
	}
	if got := ask(s, "SUBSCRIBE"+strings.Repeat(" x", session.MaxSubscriptions+1)); !strings.HasPrefix(got,
		"-ERR too many subscriptions") {
		t.Errorf("many names: %.100s", got)
	}
	if s.Listening() {
		t.Error("Listening() = true after rejections")
	}
}

// Pushes arrive from other goroutines while a session works.
func TestPushesConcurrent(t *testing.T) {
	h := newTestHandler("")
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			s := h.NewSession(session.Client{Close: func() {}, Wake: func() {}})
			defer s.Close()
			for range 50 {
				ask(s, "HELLO 3", "SUBSCRIBE a b", "PSUBSCRIBE *", "MONITOR", "PUBLISH a x", "RL.TOKEN k 5 1", "CLIENT LIST",
					"PUBSUB NUMSUB a", "INFO")
				s.Resume()
				ask(s, "UNSUBSCRIBE", "HELLO 2", "PUNSUBSCRIBE", "RESET")
			}
		})
	}
	group.Wait()
	if got := h.Hub().Sizes(); got != (session.HubSizes{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func TestPauseHoldsBackAndReleases(t *testing.T) {
	for _, tt := range []struct {
		name, scope, line, want string
		held                    bool
	}{
		{"commands that write", " WRITE", "RL.TOKEN k 10 1", "*5|:1|:10|:9|:0|:1000|", true},
		{"not commands that read", " WRITE", "RL.PEEK k", "*-1|", false},
		{"all", "", "PING", "+PONG|", true},
		{"all, by name", " ALL", "PING", "+PONG|", true},
		{"but not its end", "", "CLIENT UNPAUSE", "+OK|", false},
		{"nor QUIT", "", "QUIT", "+OK|", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			const pause = 50 * time.Millisecond
			h := newTestHandler("")
			defer h.Unpause()
			woken := make(chan struct{}, 1)
			s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
			began := time.Now()
			ask(h.NewSession(session.Client{}), "CLIENT PAUSE 50"+tt.scope)
			if taken := s.Do(words(tt.line)); taken == tt.held {
				t.Fatalf("%s: Do(%s) = %v", tt.name, tt.line, taken)
			}
			if tt.held {
				if s.Resume() {
					t.Errorf("%s: Resume() = true while it is held back", tt.name)
				}
				<-woken
				if took := time.Since(began); !s.Resume() || took != pause {
					t.Errorf("%s: woken after %v, want %v", tt.name, took, pause)
				}
				s.Do(words(tt.line))
			}
			if got := ask(s); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		})
	}
}

// A transaction that writes is held back at EXEC, and the commands before a held command
// are executed.
func TestPauseOfTransactionAndPipeline(t *testing.T) {
	h := newTestHandler("")
	woken := make(chan struct{}, 1)
	s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	if got := ask(s, "MULTI", "RL.TOKEN k 10 1", "CLIENT PAUSE 100000 WRITE"); got != "+OK|+QUEUED|+QUEUED|" {
		t.Fatal(got)
	}
	ask(h.NewSession(session.Client{}), "CLIENT PAUSE 100000 WRITE")
	s.Do(words("DISCARD"))
	s.Do(words("RL.PEEK k"))
	if s.Do(words("RL.TOKEN k 10 1")) {
		t.Error("RL.TOKEN was taken")
	}
	if got := strings.ReplaceAll(string(s.Out), "\r\n", "|"); got != "+OK|*-1|" {
		t.Errorf("before the pause: %s", got)
	}
	h.Unpause()
	<-woken
	if !s.Resume() || !s.Do(words("RL.TOKEN k 10 1")) {
		t.Error("not taken after the pause")
	}
}

func BenchmarkMonitored(b *testing.B) {
	h := newTestHandler("")
	m := h.NewSession(session.Client{Wake: func() {}, Close: func() {}})
	ask(m, "MONITOR")
	s := h.NewSession(session.Client{Addr: "127.0.0.1:1"})
	args := words("RL.TOKEN user:1 1000000 1000000")
	for b.Loop() {
		s.Do(args)
		s.Flush()
		s.Out = s.Out[:0]
		m.Resume()
		m.Out = m.Out[:0]
	}
}
