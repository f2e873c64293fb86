package limiters

import (
	"testing"

	"limitsrv/engine"
)

// TestReserveAllocations: a call on a reservation is encoded into a single allocation, for the numbers that
// the arguments of the command do not have.
func TestReserveAllocations(t *testing.T) {
	words := func(line ...string) (args [][]byte) {
		for _, w := range line {
			args = append(args, []byte(w))
		}
		return args
	}
	for _, tt := range []struct {
		parse func(b *engine.Batch, args [][]byte) error
		args  [][]byte
	}{
		{opReserve, words("RL.RESERVE", "id", "10m", "TOKEN", "user:42", "10", "1/m", "1")},
		{opReserve, words("RL.RESERVE", "id", "10m", "TOKEN", "user:42", "10", "1/m", "1", "FIXED", "all", "100", "1m", "1")},
		{opCommit, words("RL.COMMIT", "id", "3")},
		{opCommit, words("RL.COMMIT", "id", "3", "4", "5")},
	} {
		var b engine.Batch
		got := testing.AllocsPerRun(100, func() {
			b.Reset()
			if err := tt.parse(&b, tt.args); err != nil {
				t.Fatal(err)
			}
		})
		if got > 1 {
			t.Errorf("%s is encoded in %v allocations, want 1", tt.args, got)
		}
	}
}
