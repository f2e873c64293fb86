package commands

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/turns"
)

// TestLongAnswersOfScripts: while other clients send requests, a client whose scripts answer at
// length waits for the ends of pauses, and is not answered BUSY.
func TestLongAnswersOfScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := turns.New(nil)
		start := time.Now()
		slow.CountOthers(func() int64 { return int64(time.Since(start)) })
		h := newTestHandlerWith(session.Config{Turns: slow, Spawn: func(f func()) { go f() }})
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
				t.Errorf("run %d after %v: %.200s", i, time.Since(start), got)
			}
			s.Out = s.Out[:0]
		}
		if took := time.Since(start); took < (runs-2)*turns.MaxWait {
			t.Errorf("%d runs take %v: the last ones wait for no pause", runs, took)
		}
	})
}
