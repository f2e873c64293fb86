package state

import (
	"fmt"
	"testing"
	"time"

	"limitsrv/commands/datatypes"
	"limitsrv/engine"
)

// TestSweepEvery: sweeps are rare with few keys. They visit each key once per round, which is a
// second at most while a node can visit all keys in that time.
func TestSweepEvery(t *testing.T) {
	for _, tt := range []struct {
		keys         int64
		want, within time.Duration
	}{
		{0, idleTick, idleTick}, {1, shortRound, time.Second}, {3000, shortRound, time.Second},
		{30_000, 125 * time.Millisecond, time.Second},
		{100_000, time.Second / 13, time.Second}, {1_000_000, 10 * time.Second / 130, 10 * time.Second},
		{10_000_000, 46 * time.Millisecond, sweepRound}, {1 << 40, sweepTick, sweepRound},
	} {
		got := sweepInterval(tt.keys)
		if got < tt.want*9/10 || got > tt.want*11/10 {
			t.Errorf("%d keys are swept every %v, want %v", tt.keys, got, tt.want)
		}
		if looked := int64(tt.within/got) * int64(sweepPages(tt.keys)) * pageKeys; looked < tt.keys {
			t.Errorf("%d of %d keys are visited within %v", looked, tt.keys, tt.within)
		}
	}
}

// TestExpiredKeysLeave expires values in many pages: they leave Len within a second.
func TestExpiredKeysLeave(t *testing.T) {
	const keys = 20_000
	e := engine.New(engine.Options{Commands: Commands})
	now := engine.Instant(1e18)
	set := datatypes.Find([]byte("SET"))
	var b engine.Batch
	for i := range keys {
		set.SetCall(b.AddCall(0), [][]byte{fmt.Append(nil, "key:", i), []byte("v"), []byte("PX"), []byte("50")})
	}
	e.Apply(now, &b)
	if e.Len() != keys {
		t.Fatalf("%d keys, want %d", e.Len(), keys)
	}
	for range int(time.Second / sweepInterval(keys)) {
		e.Sweep(now+engine.Instant(time.Second), sweepPages(keys))
	}
	if left := e.Len(); left > 0 {
		t.Errorf("%d of %d expired keys are left", left, keys)
	}
}
