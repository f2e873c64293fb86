package state

import (
	"testing"
	"time"
)

// Sweeps are rare with few keys, and with many keys frequent enough to visit each key
// once per round.
func TestSweepEvery(t *testing.T) {
	for _, tt := range []struct {
		keys int64
		want time.Duration
	}{
		{0, maxSweepTick}, {3000, maxSweepTick}, {35_999, 100 * time.Millisecond}, {1_000_000, sweepTick}, {1 << 40, sweepTick},
	} {
		got := sweepInterval(tt.keys)
		if got != tt.want {
			t.Errorf("%d keys are swept every %v, want %v", tt.keys, got, tt.want)
		}
		if looked := int64(sweepRound/got) * int64(sweepPages(tt.keys)) * pageKeys; looked < tt.keys {
			t.Errorf("%d of %d keys are visited per round", looked, tt.keys)
		}
	}
}
