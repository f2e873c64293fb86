package session

import (
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A worker is the commands of an engine whose calls answer their number of arguments.
type worker struct{ engine.Commands }

func (worker) Level() uint8 { return 1 }

func (worker) Keys(_ *engine.Call, dst []int) ([]int, bool) { return dst, false }

func (worker) Do(_ *engine.Tx, c *engine.Call) {
	c.Answer = answer.AppendInt(c.Answer, int64(c.Command))
}

// A batch has few commands on plain values, and fewer of those with much work.
func TestBatchWeight(t *testing.T) {
	withWork := func(work uint16) *Command {
		return &Command{Name: "LRANGE", Args: "key", Complexity: "O(N)", Flags: Plain | ReadOnly, Work: func(look *engine.Batch, db uint8, _ [][]byte) {
			c := look.AddCall(db)
			c.Command, c.ReadOnly = work, true
		}}
	}
	brief := &Command{Name: "GET", Args: "key", Complexity: "O(1)", Flags: Plain | ReadOnly | Fast}
	limit := &Command{Name: "RL.TOKEN", Args: "key", Complexity: "O(N)", Flags: Write}
	for _, tt := range []struct {
		name     string
		command  *Command
		inFlight bool
		want     int // commands until the batch is full; 0: it never is
		slow     bool
	}{
		{"with much work", withWork(batchWeight * workPerWeight), false, 1, false},
		{"with some work", withWork(15 * workPerWeight), false, 4, false},
		{"with little work", withWork(1), false, 64, false},
		{"with some work, that another goroutine executes", withWork(31 * workPerWeight), true, 9, false},
		{"with most work", withWork(maxWork), true, 1, true},
		{"brief ones", brief, false, 64, false},
		{"brief ones that another goroutine executes", brief, true, 1024, false},
		{"on limits", limit, false, 0, false},
	} {
		tt.command.Op = func(b *engine.Batch, args [][]byte) error {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: args[1]})
			return nil
		}
		s := newTestSession()
		e := engine.New(engine.Options{Commands: worker{}})
		s.h.config.Engine = func() *engine.Engine { return e }
		s.h.registry = NewRegistry([]*Command{tt.command}, func([]byte) string { return "" })
		s.inFlight = tt.inFlight
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
		if got, want := s.MayBeLong(line), tt.command.Work != nil; got != want {
			t.Errorf("%s: may be long: %v, want %v", tt.name, got, want)
		}
	}
}
