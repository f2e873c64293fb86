package main

import (
	"limitsrv/cmd/limitsrv/state"
	"reflect"
	"strings"
	"testing"

	"limitsrv/commands"
	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/persist"
)

// A loggingExec checks that every batch is unchanged after encoding and decoding as a
// log entry. An entry that can be written and not read would stop all nodes
// permanently.
type loggingExec struct {
	t       testing.TB
	inner   backend.Local
	entry   persist.Entry
	decoder persist.Decoder
}

func (*loggingExec) Commit() {}

func (e *loggingExec) Exec(b *engine.Batch, done func(error)) {
	b.Level = state.Commands.Level() // as every Exec with a log
	e.check(b)
	e.inner.Exec(b, done)
}

func (e *loggingExec) check(b *engine.Batch) {
	e.entry.Reset()
	e.entry.Append(e.inner.Clock.Now(), b)
	var got []engine.Op
	err := e.decoder.Decode(e.entry.Bytes(), func(_ engine.Instant, d *engine.Batch) error {
		got = append(got, d.Ops...)
		return nil
	})
	if err != nil {
		e.t.Fatalf("decoding the entry of a batch: %v\n%+v", err, b.Ops)
	}
	if len(got) != len(b.Ops) {
		e.t.Fatalf("the log has %d ops, want %d", len(got), len(b.Ops))
	}
	for i := range got {
		want := b.Ops[i]
		if len(want.ID) == 0 {
			want.ID = got[i].ID // nil or empty
		}
		if !reflect.DeepEqual(got[i], want) {
			e.t.Fatalf("op %d in the log =\n%+v, want\n%+v", i, got[i], want)
		}
	}
}

// FuzzLogged sends lines of words to a session, and checks that all resulting ops are
// unchanged in the log.
func FuzzLogged(f *testing.F) {
	for _, c := range commands.Table() {
		for _, words := range []string{"", " a", " a b", " k 10 1 1", " k 1000000000000 1000000000 1",
			" k 10 day 2 PARTIAL SHADOW", " k 5 30 60 9223372036854775807", " k 10 1m me"} {
			f.Add([]byte(c.Name + words))
		}
	}
	for _, seed := range []string{
		"RL.TOKEN a 1000000000000 1000000000000/1us 2000000000001\nRL.TOKEN a 1 1/3650d",
		"RL.TOKEN a 5 0.000000001\nRL.LEAKY a 5 999999999.999999999 3",
		"CL.THROTTLE k 9223372036854775806 9223372036854775807 1 9223372036854775807\nCL.THROTTLE k 0 1 9223372036854775807",
		"THROTTLE k 999999999999 1000000000000 1\nGCRA k 999999999999 1 9223372036854775807 TOKENS 5\nGCRA k 1 3 7",
		"RL.ALL TOKEN a 5 3/7s 1 LEAKY a 5 2 1 FIXED b 5 year 0 SLIDE c 5 1us 9 LOG d 1000000 10s 3\nRL.CHARGE a " +
			"2000000000001\nRL.REFUND a 0",
		"WATCH a b\nMULTI\nRL.TOKEN a 1 1\nFLUSHALL\nRL.RELEASE l me\nDEL a b c\nEXEC\nRL.RESET a b",
		"RL.ACQUIRE l 1000000 3650d x\nRL.ACQUIRE l 1 1us y SHADOW",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		clock := backend.NewTestClock(1_000_000_000)
		e := &loggingExec{t: t, decoder: persist.Decoder{Commands: state.Commands},
			inner: backend.Local{Engine: engine.New(engine.Options{Commands: state.Commands}), Clock: clock}}
		h := commands.NewHandler(session.Config{Exec: e, Engine: func() *engine.Engine { return e.inner.Engine },
			Clock: clock, TestClock: clock})
		s := h.NewSession(session.Client{Close: func() {}, Wake: func() {}})
		defer s.Close()
		for line := range strings.Lines(string(input)) {
			var args [][]byte
			for _, word := range strings.Fields(line) {
				args = append(args, []byte(word))
			}
			if !s.Do(args) {
				t.Fatalf("Do(%q) was not accepted", args)
			}
		}
		s.Flush()
	})
}
