package session

import (
	"testing"

	"limitsrv/engine"
)

// A batch has few commands on plain values, and fewest of those that may be long.
func TestBatchWeight(t *testing.T) {
	long := &Command{Name: "LRANGE", Args: "key", Complexity: "O(N)", Flags: Plain | ReadOnly}
	brief := &Command{Name: "GET", Args: "key", Complexity: "O(1)", Flags: Plain | ReadOnly | Fast}
	limit := &Command{Name: "RL.TOKEN", Args: "key", Complexity: "O(N)", Flags: Write}
	for _, tt := range []struct {
		name            string
		command         *Command
		short, inFlight bool
		want            int // commands until the batch is full; 0: it never is
	}{
		{"long ones that took long, or were not seen", long, false, false, 1},
		{"long ones that were short", long, true, false, 4},
		{"long ones that another goroutine executes", long, false, true, 16},
		{"short ones that another goroutine executes", long, true, true, 64},
		{"brief ones", brief, false, false, 64},
		{"brief ones that another goroutine executes", brief, false, true, 1024},
		{"on limits", limit, false, false, 0},
	} {
		tt.command.Op = func(b *engine.Batch, args [][]byte) error {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: args[1]})
			return nil
		}
		s := newTestSession()
		s.h.registry = NewRegistry([]*Command{tt.command}, func([]byte) string { return "" })
		s.short, s.inFlight = tt.short, tt.inFlight
		n, line := 0, [][]byte{[]byte(tt.command.Name), []byte("a")}
		for n < 2000 && s.Pending() <= n {
			s.Do(line)
			n++
		}
		if want := tt.want; n != want && (want > 0 || n < 2000) {
			t.Errorf("%s: a batch is full with %d, want %d", tt.name, n, want)
		}
		if got, want := s.MayBeLong(line), tt.command == long; got != want {
			t.Errorf("%s: may be long: %v, want %v", tt.name, got, want)
		}
	}
}
