package commands

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// FuzzSession sends the lines of the input as commands, with words as in splitLine, in
// pipelines that end where a line begins with "!". It expects no panic and exactly one
// well-formed reply for each.
func FuzzSession(f *testing.F) {
	for _, c := range newRegistry().Specs() {
		name := strings.ReplaceAll(c.FullName, "|", " ")
		f.Add([]byte(name))
		f.Add([]byte(name + " a b"))
		f.Add([]byte(name + " k 10 1 1"))
		f.Add([]byte("HELLO 3\nMULTI\n" + name + " k 2 5 3\n" + name + " 0\nEXEC"))
	}
	for _, seed := range []string{
		"WATCH a b\nRL.TOKEN a 1 1\n!MULTI\nRL.TOKEN a 1 1\nDBSIZE\nSCAN 0 MATCH [^a-\\\nEXEC",
		"RL.ALL TOKEN a 1 1 1 LOG b 5 1m 2 SLIDE c 1 1 1\nRL.PEEK a\nKEYS ?[a-\nRL.CHARGE a 2\nRL.REFUND a 1",
		"HELLO 3 AUTH default x SETNAME y\nCLIENT LIST\nINFO all\nCOMMAND DOCS\nCOMMAND\nMEMORY STATS",
		"DEBUG ADVANCE-TIME 10d\nRL.FIXED a 1 month 5\nTTL a\nTYPE a\nOBJECT ENCODING a",
		"RL.RESERVE i 9s KEEP 1 PARTIAL FIXED a 9 1m 4 LOG b 9 1m =1\nRL.EXTEND i 9s BY 2 KEEP ALL\nRL.RESERVED i\n" +
			"RL.RESERVED KEY a CURSOR 1 COUNT 2\nRL.COMMIT i 1 2\nRL.COMMIT i in=1 out=2\nRL.COMMIT i 9\n" +
			"RL.CANCEL i\nINFO reservations",
		"CONFIG GET *\nCOMMAND GETKEYS RL.ALL TOKEN a 1 1 1\nRL.ACQUIRE l 2 10s me\nRL.RELEASE l me",
		"\"\\x00\\r\\n\" \"\" \"\\r\\n-ERR\"\nPING \"\\r\\n\"\nnope '\nQUIT\nPING",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		checkSession(t, newTestHandler(""), input, func() {})
		h, later := newTestHandlerWith(session.Config{Spawn: func(f func()) { go f() }}), &delayedExec{}
		later.inner, h.Executor().Exec = h.Executor().Exec, later
		checkSession(t, h, input, later.complete)
	})
}

// A delayedExec executes a batch when complete is called.
type delayedExec struct {
	inner   backend.Exec
	mu      sync.Mutex
	waiting []func()
}

func (*delayedExec) Commit() {}

func (e *delayedExec) Exec(b *engine.Batch, done func(error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, func() { e.inner.Exec(b, done) })
}

func (e *delayedExec) complete() {
	e.mu.Lock()
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	for _, answer := range waiting {
		answer()
	}
}

// checkSession sends input's lines to a session. complete completes the batch in flight.
func checkSession(t *testing.T, h *session.Handler, input []byte, complete func()) {
	s := h.NewSession(session.Client{Close: func() {}, Wake: func() {}})
	defer s.Close()
	flush := func() {
		for !s.Flush() {
			complete()
			runtime.Gosched() // some commands continue in goroutines
			s.Resume()
		}
	}
	want := 0
	for _, line := range bytes.Split(input, []byte("\n")) {
		ends := bytes.HasPrefix(line, []byte("!"))
		args, err := splitLine(string(bytes.TrimPrefix(line, []byte("!"))))
		if err != nil || len(args) == 0 || silencing(args) {
			continue
		}
		if ends {
			flush()
		}
		if s.Closing() {
			break
		}
		if !s.Do(args) {
			flush()
			if s.Closing() {
				break
			}
			if !s.Do(args) {
				t.Fatalf("Do(%q) = false though nothing is away", args)
			}
		}
		want++
		if s.Waits() {
			unblocked := s.Handler().Unblock(1, false)
			complete() // its attempt
			if !unblocked || !s.Resume() {
				t.Fatalf("%q waits for ever", args)
			}
		}
	}
	flush()
	replies, err := readReplies(s.Out)
	if err != nil {
		t.Fatalf("%v\nin %q", err, s.Out)
	}
	if len(replies) != want {
		t.Fatalf("%d replies to %d commands: %q", len(replies), want, replies)
	}
	if s.Pending() != 0 || !s.Flush() {
		t.Fatalf("after Flush: %d pending, or a batch is in flight", s.Pending())
	}
}

// silencing reports whether a command does not have exactly one immediate reply by
// design.
func silencing(args [][]byte) bool {
	for _, name := range []string{"SHUTDOWN", "MONITOR", "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE"} {
		if word.Is(args[0], name) {
			return true
		}
	}
	return len(args) > 1 && word.Is(args[0], "CLIENT") && (word.Is(args[1], "REPLY") || word.Is(args[1], "PAUSE"))
}
