package commands

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// fakeExec answers every op: a Forget is allowed, a Peek finds keys that begin with "k"
// with a reset of 1500 ms, an Expect of 7 holds unless its key is "changed", a Watch
// returns 7, and the key "down" has no quorum. It records the ops.
type fakeExec struct {
	batches []string      // keys of each batch; atomic batches end in "!", stale batches in "?"
	err     error         // passed to done instead
	held    chan struct{} // unless nil, done is called from another goroutine after a receive from it
	// onCommit, unless nil, is called by Commit.
	onCommit func()
	done     chan struct{} // unless nil, closed after that
}

func (f *fakeExec) Commit() {
	if f.onCommit != nil {
		f.onCommit()
	}
}

func (f *fakeExec) Exec(b *engine.Batch, done func(error)) {
	var keys []string
	for _, op := range b.Ops {
		keys = append(keys, string(op.Key))
	}
	asked := strings.Join(keys, " ")
	if b.Atomic {
		asked += "!"
	}
	if b.Stale {
		asked += "?"
	}
	f.batches = append(f.batches, asked)
	if f.held == nil {
		f.answer(b, done)
		return
	}
	go func() {
		<-f.held
		f.answer(b, done)
		if f.done != nil {
			close(f.done)
		}
	}()
}

func (f *fakeExec) answer(b *engine.Batch, done func(error)) {
	aborted := false
	for _, op := range b.Ops {
		d := engine.Decision{Allowed: 1, Reset: engine.Span{Millis: 1500}}
		switch {
		case string(op.Key) == "down":
			d = engine.Decision{Status: engine.Down}
		case op.Kind == engine.Peek && op.Key[0] != 'k':
			d = engine.Decision{Status: engine.Missing}
		case op.Kind == engine.Watch:
			d.Remaining = 7
		}
		aborted = aborted || op.Kind == engine.Expect && (string(op.Key) == "changed" || op.N != 7)
		b.Decisions = append(b.Decisions, d)
	}
	for i := range b.Decisions {
		if aborted {
			b.Decisions[i] = engine.Decision{Status: engine.Aborted}
		}
	}
	done(f.err)
}

func newTestSession(e backend.Exec, password string, wake func()) *session.Session {
	eng := engine.New(engine.Options{Shards: 1, Commands: calls.Commands})
	h := NewHandler(session.Config{Exec: e, Engine: func() *engine.Engine { return eng },
		Clock: backend.NewTestClock(testStart), Password: password, Version: "0"})
	return h.NewSession(session.Client{Addr: "127.0.0.1:9", LocalAddr: "127.0.0.1:6379", Wake: wake})
}

// words splits a command line into arguments; "" is an empty argument.
func words(line string) [][]byte {
	var args [][]byte
	for _, w := range strings.Fields(line) {
		args = append(args, []byte(strings.Trim(w, `"`)))
	}
	return args
}

// ask sends lines as a single pipeline and returns the replies.
func ask(s *session.Session, lines ...string) string {
	for _, l := range lines {
		if !s.Do(words(l)) {
			return "not taken: " + l
		}
	}
	s.Flush()
	out := strings.ReplaceAll(string(s.Out), "\r\n", "|")
	s.Out = s.Out[:0]
	return out
}

func TestPipelineIsOneBatch(t *testing.T) {
	f := &fakeExec{}
	s := newTestSession(f, "", nil)
	for _, tt := range []struct {
		name    string
		lines   []string
		want    string
		batches string
	}{
		{"gathers ops", []string{"DEL a b", "EXISTS k", "del c"}, ":2|:1|:1|", "a b k c"},
		{"flushes before a run command", []string{"DEL a", "PING", "DEL b"}, ":1|+PONG|:1|", "a,b"},
		{"answers errors in their place", []string{"DEL a", "DEL", "DEL b", "EXISTS \"\"", "NOPE x", "PTTL k"},
			":1|-ERR wrong number of arguments for 'del' command|:1|-ERR key must be 1 to 1024 bytes long, got ''|" +
				"-ERR unknown command 'NOPE', with args beginning with: 'x' |:1500|", "a b k"},
		{"executes nothing for errors alone", []string{"DEL", "DEL"},
			strings.Repeat("-ERR wrong number of arguments for 'del' command|", 2), ""},
		{"answers commands before QUIT and none after", []string{"DEL a", "QUIT", "DEL b"}, ":1|+OK|", "a"},
	} {
		f.batches = nil
		if got := ask(s, tt.lines...); got != tt.want {
			t.Errorf("%s: %q\n got %s\nwant %s", tt.name, tt.lines, got, tt.want)
		}
		if got := strings.Join(f.batches, ","); got != tt.batches {
			t.Errorf("%s: batches %q, want %q", tt.name, got, tt.batches)
		}
	}
	if !s.Closing() {
		t.Error("Closing() = false after QUIT")
	}
}

func TestBatchAway(t *testing.T) {
	f := &fakeExec{held: make(chan struct{})}
	woken := make(chan struct{}, 1)
	s := newTestSession(f, "", func() { woken <- struct{}{} })
	back := func() {
		t.Helper()
		f.held <- struct{}{}
		<-woken
		s.Resume()
	}
	out := func() string { return strings.ReplaceAll(string(s.Out), "\r\n", "|") }

	s.Do(words("DEL a"))
	s.Do(words("TTL k"))
	if s.Do(words("PING")) {
		t.Fatal("Do(PING) = true, want it to wait for the batch")
	}
	for _, l := range []string{"DEL b", "PING", "NOPE"} {
		if s.Do(words(l)) {
			t.Errorf("Do(%s) = true while a batch is away", l)
		}
	}
	if s.Flush() {
		t.Error("Flush() = true while a batch is away")
	}
	s.Resume()
	if out() != "" {
		t.Errorf("replies before the batch is back: %s", out())
	}
	back()
	if !s.Do(words("PING")) {
		t.Error("Do(PING) = false after Resume")
	}
	if got, want := out(), ":1|:2|+PONG|"; got != want {
		t.Errorf("replies %s, want %s", got, want)
	}

	s.Out = nil
	s.Do(words("MULTI"))
	s.Do(words("DEL c"))
	if !s.Do(words("EXEC")) {
		t.Error("Do(EXEC) = false, want it taken")
	}
	if s.Do(words("PING")) {
		t.Error("Do(PING) = true while EXEC is away")
	}
	back()
	if got, want := out(), "+OK|+QUEUED|*1|:1|"; got != want {
		t.Errorf("replies %s, want %s", got, want)
	}

	s.Out = nil
	s.Do(words("DEL d"))
	s.ProtocolError("Protocol error: invalid bulk length")
	if s.Closing() {
		t.Error("Closing() = true before the replies are there")
	}
	back()
	if got, want := out(), ":1|-ERR Protocol error: invalid bulk length|"; got != want || !s.Closing() {
		t.Errorf("replies %s, want %s; Closing() = %v", got, want, s.Closing())
	}
}

func TestCloseWakesNobody(t *testing.T) {
	f := &fakeExec{held: make(chan struct{}), done: make(chan struct{})}
	s := newTestSession(f, "", func() { t.Error("Wake after Close") })
	s.Do(words("DEL a"))
	s.Flush()
	s.Close()
	f.held <- struct{}{}
	<-f.done
	if s.Do(words("PING")) {
		t.Error("Do = true after Close")
	}
}

func TestBatchFails(t *testing.T) {
	f := &fakeExec{err: fmt.Errorf("commit: %w",
		resp.NewError("UNCERTAIN", "the decision may or may not have been applied"))}
	s := newTestSession(f, "", nil)
	const uncertain = "-UNCERTAIN the decision may or may not have been applied|"
	if got, want := ask(s, "DEL a", "DEL", "DEL b"),
		uncertain+"-ERR wrong number of arguments for 'del' command|"+uncertain; got != want {
		t.Errorf("replies %s, want %s", got, want)
	}
	if got, want := ask(s, "MULTI", "DEL a", "PING", "EXEC"), "+OK|+QUEUED|+QUEUED|"+uncertain; got != want {
		t.Errorf("replies %s, want %s", got, want)
	}
	f.err = errors.New("disk on fire")
	if got, want := ask(s, "DEL a"), "-ERR internal error|"; got != want {
		t.Errorf("replies %s, want %s", got, want)
	}
}

// allow is an Exec that answers every op with 1.
type allow struct{}

func (allow) Commit() {}

func (allow) Exec(b *engine.Batch, done func(error)) {
	for range b.Ops {
		b.Decisions = append(b.Decisions, engine.Decision{Allowed: 1})
	}
	done(nil)
}

func TestNoAllocationPerCommand(t *testing.T) {
	for _, line := range []string{
		"DeL user:1", "rl.token user:1 10 1", "RL.FIXED user:2 10 day 2 PARTIAL", "RL.SLIDE user:3 10 1m",
		"RL.LEAKY user:4 10 100/60 SHADOW",
		"RL.PEEK user:1", "TTL user:1", "RL.ALL TOKEN user:1 10 1 1 SLIDE user:3 10 1m 1", "CL.THROTTLE user:5 15 30 60 1",
		"PING",
		"SET v 5", "SET w abcdefghijklmnopqrstuvwxyz EX 10", "GET v", "GET w", "INCR v", "EXPIRE v 100", "MGET v w none",
	} {
		for name, s := range map[string]*session.Session{
			"fake": newTestSession(allow{}, "", nil), "engine": newTestHandler("").NewSession(session.Client{}),
		} {
			args := words(line)
			const pipeline = 64
			got := testing.AllocsPerRun(100, func() {
				for range pipeline {
					s.Do(args)
				}
				s.Flush()
				s.Out = s.Out[:0]
			})
			if got != 0 {
				t.Errorf("%s, %s: %v allocations for a pipeline of %d, want 0", line, name, got, pipeline)
			}
		}
	}
}

// BenchmarkSession measures bytes in to bytes out, including the engine, without socket
// and reader.
func BenchmarkSession(b *testing.B) {
	for _, line := range []string{"RL.TOKEN user:1 1000000 1000000", "RL.SLIDE user:1 1000000 1m", "PING"} {
		for _, pipeline := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/pipeline=%d", strings.Fields(line)[0], pipeline), func(b *testing.B) {
				s := newTestHandler("").NewSession(session.Client{})
				args := words(line)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					s.Do(args)
					if i%pipeline == 0 {
						s.Flush()
						s.Out = s.Out[:0]
					}
				}
			})
		}
	}
}

// TestSessionsTogether lets concurrent sessions read the data that they publish about
// each other.
func TestSessionsTogether(t *testing.T) {
	h := newTestHandler("")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			s := h.NewSession(session.Client{Addr: fmt.Sprint(i), Close: func() {}, Wake: func() {}})
			defer s.Close()
			for range 20 {
				got := ask(s, "HELLO 3 SETNAME me", "RL.TOKEN k 5 1", "CLIENT LIST", "CLIENT KILL ADDR 1", "SELECT 3", "INFO all",
					"NOPE",
					"DEBUG ADVANCE-TIME 1s", "WATCH k", "MULTI", "RL.TOKEN k 5 1", "EXEC", "CONFIG RESETSTAT", "SCAN 0", "HELLO 2")
				if !strings.HasSuffix(got, "modules|*0|") {
					t.Errorf("the last reply is not HELLO's: %s", got)
					return
				}
			}
		})
	}
	group.Wait()
}
