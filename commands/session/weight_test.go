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
		name     string
		command  *Command
		short    int // batches that were short before
		inFlight bool
		want     int // commands until the batch is full; 0: it never is
	}{
		{"long ones that took long, or were not seen", long, 0, false, 1},
		{"long ones that were short", long, 1, false, 4},
		{"long ones that were short twice", long, 2, false, 16},
		{"long ones that were short often", long, 9, false, 16},
		{"long ones that another goroutine executes", long, 0, true, 16},
		{"short ones that another goroutine executes", long, 1, true, 64},
		{"brief ones", brief, 0, false, 64},
		{"brief ones that another goroutine executes", brief, 0, true, 1024},
		{"on limits", limit, 0, false, 0},
	} {
		tt.command.Op = func(b *engine.Batch, args [][]byte) error {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: args[1]})
			return nil
		}
		s := newTestSession()
		s.h.registry = NewRegistry([]*Command{tt.command}, func([]byte) string { return "" })
		s.inFlight = tt.inFlight
		for range tt.short {
			s.learn(int64(shortTime) - 1)
		}
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

// TestLearnLong: one batch that takes long makes the next commands weigh most again.
func TestLearnLong(t *testing.T) {
	var s Session
	s.learn(0)
	s.learn(0)
	s.learn(int64(shortTime))
	if s.long != batchWeight {
		t.Errorf("weight %d after a long batch, want %d", s.long, batchWeight)
	}
}
