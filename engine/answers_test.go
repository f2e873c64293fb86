package engine_test

import (
	"strconv"
	"testing"

	"limitsrv/engine"
)

// TestAnswerBytes: a batch with a bound on its answers has the effects of a batch without, and
// beyond the bound no answers of calls that only read, unless effects need them.
func TestAnswerBytes(t *testing.T) {
	now := instant("2025-06-15T12:34:56Z")
	fill := func(b *engine.Batch, write bool) {
		for i := range 100 {
			if write {
				call(b, 0, toyAdd, "n"+strconv.Itoa(i%7), "1000000")
			}
			call(b, 0, toyGet, "n"+strconv.Itoa(i%7))
		}
	}
	for _, tt := range []struct{ write, effects bool }{{true, true}, {true, false}, {false, false}} {
		write := tt.write
		var bounded, free engine.Batch
		engines := [2]*engine.Engine{}
		for i, b := range []*engine.Batch{&bounded, &free} {
			e := engine.New(engine.Options{Commands: toy{}, Effects: tt.effects})
			engines[i] = e
			b.Atomic, b.AnswerBytes = true, 0
			fill(b, true)
			e.Apply(now, b)
			b.Reset()
			b.Atomic = true
			fill(b, write)
		}
		bounded.AnswerBytes = 200
		for range 2 { // as a batch that is applied again
			for i, b := range []*engine.Batch{&bounded, &free} {
				if write {
					engines[i].Apply(now, b)
				} else {
					engines[i].Look(now, b)
				}
			}
			if bounded.Effects != free.Effects || engines[0].MemoryBytes() != engines[1].MemoryBytes() {
				t.Errorf("writing %t: a bound changes the effects", write)
			}
			bytes, empty := 0, 0
			for i := range bounded.Calls {
				got, want := string(bounded.Calls[i].Answer), string(free.Calls[i].Answer)
				if bytes >= 200 && !tt.effects && (!write || i%2 == 1) {
					want = ""
					empty++
				}
				bytes += len(want)
				if got != want || bounded.Decisions[i] != free.Decisions[i] {
					t.Fatalf("writing %t: answer %d after %d bytes is %q, want %q", write, i, bytes, got, want)
				}
			}
			if empty > 0 == tt.effects || bounded.Held == tt.effects {
				t.Errorf("writing %t: %d answers are empty", write, empty)
			}
		}
		bounded.Reset()
		if bounded.AnswerBytes != 0 {
			t.Error("Reset leaves a bound")
		}
		if write {
			for i := range 7 {
				if a, b := do(engines[0], now, toyGet, "n"+strconv.Itoa(i)),
					do(engines[1], now, toyGet, "n"+strconv.Itoa(i)); a != b {
					t.Errorf("key %d: %s with a bound, %s without", i, a, b)
				}
			}
		}
	}
}
