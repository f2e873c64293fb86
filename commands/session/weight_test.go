package session

import (
	"context"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A worker has the commands of an engine. Each call answers its own number.
type worker struct{ engine.Commands }

func (worker) Level() uint8 { return 1 }

func (worker) Keys(_ *engine.Call, dst []int) ([]int, bool) { return dst, false }

func (worker) Do(_ *engine.Tx, c *engine.Call) {
	c.Answer = answer.AppendInt(c.Answer, int64(c.Command&^spec.WorkBit))
}

// A batch has few commands on plain values, and fewer of those with much work.
func TestBatchWeight(t *testing.T) {
	withWork := func(work uint16) *spec.Command {
		c := &spec.Command{Name: "LRANGE", Args: "key", Complexity: "O(N)", Flags: spec.Plain | spec.ReadOnly}
		c.Body = &spec.Call{Work: func(*engine.Tx, [][]byte) int { panic("not called: see worker") }}
		c.SetNumber(work)
		return c
	}
	forget := &spec.Ops{Parse: func(b *engine.Batch, args [][]byte) error {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: args[1]})
		return nil
	}}
	brief := &spec.Command{Name: "GET", Args: "key", Complexity: "O(1)", Flags: spec.Plain | spec.ReadOnly | spec.Fast,
		Body: forget}
	limit := &spec.Command{Name: "RL.TOKEN", Args: "key", Complexity: "O(N)", Flags: spec.Write, Body: forget}
	for _, tt := range []struct {
		name     string
		command  *spec.Command
		inFlight bool
		want     int // commands until the batch is full; 0: it never is
		slow     bool
	}{
		{"with much work", withWork(batchWeight * workPerWeight), false, 1, false},
		{"with some work", withWork(15 * workPerWeight), false, 4, false},
		{"with little work", withWork(1), false, 64, false},
		{"with some work, that another goroutine executes", withWork(31 * workPerWeight), true, 9, false},
		{"on keys that do not exist", withWork(0), false, 64, false},
		{"with most work", withWork(maxWork), true, 1, true},
		{"brief ones", brief, false, 64, false},
		{"brief ones that another goroutine executes", brief, true, 1024, false},
		{"with unknown work at a front", withWork(1), true, batchWeight * inFlightShare / frontWeight, false},
		{"on limits", limit, false, 0, false},
	} {
		s := newTestSession()
		e := engine.New(engine.Options{Commands: worker{}})
		s.h.config.Engine = func() *engine.Engine { return e }
		s.h.registry = NewRegistry([]*spec.Command{tt.command}, func([]byte) string { return "" })
		s.inFlight = tt.inFlight
		if strings.Contains(tt.name, "front") {
			s.h.config.Ask = func(context.Context, backend.Asked, func([][]byte, error)) {}
		}
		n, line := 0, [][]byte{[]byte(tt.command.Name), []byte("a")}
		for n < 2000 && s.Pending() <= n {
			s.Do(line)
			n++
		}
		if want := tt.want; n != want && (want > 0 || n < 2000) {
			t.Errorf("%s: a batch is full with %d, want %d", tt.name, n, want)
		}
		if s.g.batch.Slow != tt.slow {
			t.Errorf("%s: the batch is slow: %v, want %v", tt.name, s.g.batch.Slow, tt.slow)
		}
		if got, want := s.g.batch.Work > 0, tt.command.Body != forget; got != want {
			t.Errorf("%s: the batch has work: %v, want %v", tt.name, got, want)
		}
		if got, want := s.MayBeLong(line), tt.command.Body != forget; got != want {
			t.Errorf("%s: may be long: %v, want %v", tt.name, got, want)
		}
	}
}

// A client with slow batches is no other client, for a time.
func TestDearClientsAreNoOthers(t *testing.T) {
	s := newTestSession()
	stats := s.h.stats
	answer := func(slow bool) {
		s.gathered().batch = engine.Batch{Ops: make([]engine.Op, 3), Slow: slow}
		s.began = 1
		s.touch()
		s.countWaits(5)
		s.g = nil
	}
	for _, tt := range []struct {
		name string
		slow bool
		want int64
	}{
		{"a client", false, 3},
		{"with a slow batch", true, 3},
		{"with other batches soon after", false, 3},
		{"with other batches later", false, 6},
	} {
		if tt.name == "with other batches later" {
			s.dearUntil = s.h.sinceStart()
		}
		if answer(tt.slow); stats.countOthers() != tt.want {
			t.Errorf("%s: %d requests of others, want %d", tt.name, stats.countOthers(), tt.want)
		}
	}
	s.h.countOther(HTTP, WasAllowed)
	s.h.countOther(GRPC, WasDenied)
	if got := stats.countOthers(); got != 8 {
		t.Errorf("with other protocols: %d requests, want 8", got)
	}
}
