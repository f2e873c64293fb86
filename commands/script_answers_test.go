package commands

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
	"limitsrv/internal/turns"
)

// TestLongAnswersOfScripts: while other clients send requests, a client whose scripts answer at
// length waits for the ends of pauses, and is not answered BUSY, also by a node that follows.
func TestLongAnswersOfScripts(t *testing.T) {
	for _, follows := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, slow, start := newFakeCluster(status.Leader), turns.New(nil), time.Now()
			if follows {
				c.moved = "127.0.0.1:1"
			}
			slow.CountOthers(func() int64 { return int64(time.Since(start)) })
			h := newTestHandlerWith(session.Config{Cluster: c, Turns: slow, Spawn: func(f func()) { go f() }})
			woken := make(chan struct{}, 1)
			s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
			const runs = 4
			for i := range runs {
				s.Do(words("EVAL return(string.rep('x',5000000)) 0"))
				for !s.Flush() {
					<-woken
					s.Resume()
				}
				if got := string(s.Out); !strings.HasPrefix(got, "$5000000\r\n") {
					t.Errorf("follows %v: run %d after %v: %.200s", follows, i, time.Since(start), got)
				}
				s.Out = s.Out[:0]
			}
			if took := time.Since(start); took < (runs-2)*turns.MaxWait {
				t.Errorf("follows %v: %d runs take %v: the last ones wait for no pause", follows, runs, took)
			}
		})
	}
}

// TestFirstLongAnswers: the first command of a client may answer at length, also a script that is
// known to change nothing.
func TestFirstLongAnswers(t *testing.T) {
	h := newTestHandlerWith(session.Config{})
	ask(h.NewSession(session.Client{Wake: func() {}}), "SETRANGE long 499999 x")
	for _, line := range []string{
		"EVAL return(string.rep('x',500000)) 0", "EVAL return(string.rep('x',500000)) 0",
		"EVAL_RO return(string.rep('x',500000)) 0", "GET long",
	} {
		s := h.NewSession(session.Client{Wake: func() {}})
		s.Do(words(line))
		for !s.Flush() || s.Paused() {
			s.Resume()
			s.Continue()
		}
		if got := string(s.Out); !strings.HasPrefix(got, "$500000\r\n") {
			t.Errorf("%s: %.200s", line, got)
		}
	}
}
