package session

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// testCommands are the commands of newTestSession.
var testCommands = []*spec.Command{
	{
		Name: "DEL", Args: "key",
		Body: &spec.Ops{
			Parse: func(b *engine.Batch, args [][]byte) error {
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: args[1]})
				return nil
			},
			Reply: func(w *resp.Writer, _ []engine.Op, ds []engine.Decision) { w.Int(ds[0].Allowed) },
		},
	},
	{Name: "MULTI", Flags: spec.Immediate, Body: Run(func(s *Session, _ *resp.Writer, _ [][]byte) { _ = s.Multi() })},
	{Name: "EXEC", Flags: spec.Immediate | spec.Executes,
		Body: Run(func(s *Session, _ *resp.Writer, _ [][]byte) { _ = s.Exec() })},
}

// newTestSession returns a session of a server with testCommands and more. The server allows
// every op.
func newTestSession(more ...*spec.Command) *Session {
	r := NewRegistry(append(more, testCommands...), func([]byte) string { return "" })
	return NewHandler(Config{Exec: allow{}, Clock: backend.NewTestClock(0)}, r).NewSession(Client{Wake: func() {}})
}

// settle executes what the session has accepted, with all pauses of a transaction.
func (s *Session) settle() {
	for !s.Flush() {
		runtime.Gosched()
		s.Resume()
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

// send sends one-word commands, or DEL with its key.
func (s *Session) send(lines ...string) {
	for _, l := range lines {
		line := [][]byte{[]byte(l)}
		if l == "DEL" {
			line = append(line, []byte("a"))
		}
		s.Do(line)
	}
	s.Flush()
	s.Out = nil
}

// An idle session holds no memory for commands, and the pool keeps no memory of an
// exceptionally deep pipeline.
func TestMemoryIsGivenBack(t *testing.T) {
	s := newTestSession()
	for _, n := range []int{1, maxKept + 1} {
		s.send(slices.Repeat([]string{"DEL"}, n)...)
		if s.g != nil {
			t.Errorf("after %d commands the session keeps room for %d", n, cap(s.g.items))
		}
	}
	if g := s.gathered(); cap(g.items) > maxKept || cap(g.batch.Ops) > maxKept {
		t.Errorf("room for %d items and %d ops is used again, want at most %d", cap(g.items), cap(g.batch.Ops), maxKept)
	}
}

// The pool keeps no batch with large answers.
func TestAnswersAreReleased(t *testing.T) {
	s := newTestSession()
	for range 100 {
		c := s.gathered().batch.AddCall(0)
		c.Answer = make([]byte, 0, 12<<10)
	}
	s.giveBack()
	if calls := s.gathered().batch.Calls; cap(calls) > 0 {
		t.Errorf("a batch with %d answers of 12 KB is used again", cap(calls))
	}
}

// A reused batch holds no arguments of the commands before.
func TestArgumentsAreReleased(t *testing.T) {
	s := newTestSession()
	s.send("MULTI", "DEL", "DEL", "EXEC", "DEL")
	g := s.gathered() // may be a reused batch
	if cap(g.items) < 2 {
		t.Fatalf("room for %d commands, want that of the transaction", cap(g.items))
	}
	for _, it := range g.items[:cap(g.items)] {
		if it.args != nil {
			t.Error("arguments of a transaction that is over are held on to")
		}
	}
}

// Commands check for monitors only while there is a monitor.
func TestMonitorsEnd(t *testing.T) {
	s := newTestSession()
	s.Monitor()
	if s.h.hooks.Load() != monitored {
		t.Errorf("with a monitor the hooks are %b, want %b", s.h.hooks.Load(), monitored)
	}
	s.Close()
	if s.h.hooks.Load() != 0 {
		t.Errorf("after the last monitor has ended the hooks are %b, want none", s.h.hooks.Load())
	}
}

// TestTransactionIsBounded: run commands of a transaction with too many answers are errors, each in
// its place.
func TestTransactionIsBounded(t *testing.T) {
	const each, all = 1 << 20, 100
	runs := 0
	s := newTestSession(&spec.Command{Name: "BIG", Body: Run(func(_ *Session, w *resp.Writer, _ [][]byte) {
		runs++
		w.BulkString(string(make([]byte, each)))
	})})
	s.send("MULTI")
	for range all {
		s.Do([][]byte{[]byte("BIG")})
	}
	s.Flush()
	s.Out = nil
	s.Do([][]byte{[]byte("EXEC")})
	s.settle()
	if want := engine.MaxAnswerBytes / each; runs > want+1 || len(s.Out) > engine.MaxAnswerBytes+2*each {
		t.Errorf("%d commands were executed, with %d bytes; want %d", runs, len(s.Out), want)
	}
	if got := bytes.Count(s.Out, []byte("-ERR the answers of a pipeline")); got != all-runs {
		t.Errorf("%d errors for %d commands that were not executed", got, all-runs)
	}
}

// TestTransactionPauses: the run commands of a long transaction let other sessions pass.
func TestTransactionPauses(t *testing.T) {
	const all = 3 * execFew
	woken, runs := make(chan struct{}, all), 0
	s := newTestSession(&spec.Command{Name: "SLEEP", Body: Run(func(_ *Session, w *resp.Writer, _ [][]byte) {
		time.Sleep(time.Duration(execTurn))
		runs++
		w.Int(int64(runs))
	})})
	s.client.Wake = func() { woken <- struct{}{} }
	s.send("MULTI")
	want := fmt.Sprintf("*%d\r\n", 2*all)
	for i := range all {
		s.send("SLEEP", "DEL")
		want += fmt.Sprintf(":%d\r\n:1\r\n", i+1)
	}
	s.Do([][]byte{[]byte("EXEC")})
	pauses := 0
	for !s.Flush() {
		if runs == all || s.Do([][]byte{[]byte("MULTI")}) {
			t.Fatalf("a command is accepted after %d of %d", runs, all)
		}
		<-woken
		pauses++
		s.Resume()
	}
	if pauses < all/2 || string(s.Out) != want || s.tx.open || s.g != nil {
		t.Errorf("%d pauses; the reply is %q, want %q", pauses, s.Out, want)
	}
	s.send("MULTI")
	for range all {
		s.send("SLEEP")
	}
	s.Do([][]byte{[]byte("EXEC")})
	s.Close() // while it is away
	for s.state.Load() != arrived {
		runtime.Gosched()
	}
	if len(woken) > 0 {
		t.Error("a closed session is woken")
	}
}

// TestShortTransactionPauses: a transaction of few commands pauses if they take long.
func TestShortTransactionPauses(t *testing.T) {
	woken := make(chan struct{}, 2)
	s := newTestSession(&spec.Command{Name: "SLEEP", Body: Run(func(_ *Session, w *resp.Writer, _ [][]byte) {
		time.Sleep(time.Duration(execLong))
		w.Int(1)
	})})
	s.client.Wake = func() { woken <- struct{}{} }
	s.send("MULTI", "SLEEP", "SLEEP")
	s.Do([][]byte{[]byte("EXEC")})
	if s.Flush() {
		t.Fatal("the transaction does not pause")
	}
	for !s.Flush() {
		<-woken
		s.Resume()
	}
	if want := "*2\r\n:1\r\n:1\r\n"; string(s.Out) != want {
		t.Errorf("the reply is %q, want %q", s.Out, want)
	}
}
