package persist

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestReplayEntries replays entries of all kinds as a start does, and applies them one by
// one. The digests must be equal, and so must be the states after a damaged entry.
func TestReplayEntries(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := engine.Options{Seed: [16]byte{9}, Commands: scribe{}}
		got, want := engine.New(o), engine.New(o)
		replay, decoder := newReplay(got, "log", nil, 1), Decoder{Commands: scribe{}}
		now := engine.Instant(1e18)
		var entry Entry
		for i := range 800 / testwait.Slowdown() {
			entry.Reset()
			for range 1 + r.IntN(3) {
				now += engine.Instant(r.Int64N(1e9) - 1e8)
				b := randomBatch(r, i%100 == 0)
				entry.Append(now, &b)
			}
			if err := replay.entry(uint64(i), entry.Bytes()); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := decoder.Decode(entry.Bytes(), func(at engine.Instant, b *engine.Batch) error {
				want.Apply(at, b)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		err := replay.entry(7, entry.Bytes()[:entry.Len()-1])
		if err == nil || !strings.HasPrefix(err.Error(), "entry 7 of log: decode entry: ") {
			t.Errorf("seed %d: error %v of a short entry", seed, err)
		}
		_ = decoder.Decode(entry.Bytes()[:entry.Len()-1], func(at engine.Instant, b *engine.Batch) error {
			want.Apply(at, b)
			return nil
		})
		replay.Finish()
		if g, w := got.Digest(now), want.Digest(now); g != w || got.Len() == 0 {
			t.Errorf("seed %d: digest %x of %d keys, want %x of %d", seed, g, got.Len(), w, want.Len())
		}
	}
}

// randomBatch returns a batch of takes and calls, rarely of ops that touch all shards.
func randomBatch(r *rand.Rand, rare bool) (b engine.Batch) {
	key := func() string { return fmt.Sprint("key ", r.IntN(3000)) }
	take := func() engine.Op {
		p := engine.Params{Alg: engine.Token, Limit: 5, Count: 1, Period: 1e10}
		return engine.Op{Kind: engine.Take, Params: p, N: 1, DB: uint8(r.IntN(2)), Key: []byte("limit " + key())}
	}
	for range 1 + r.IntN(30) {
		if b.Ops = append(b.Ops, take()); r.IntN(3) == 0 {
			write(&b, uint8(r.IntN(2)), scribeAppend, key(), "text")
		}
	}
	b.Level, b.Tight = uint8(1+r.IntN(200)/199), r.IntN(200) == 0
	if !rare {
		return b
	}
	switch r.IntN(5) {
	case 0:
		b.Atomic = true
	case 1:
		write(&b, 0, scribeSwap, key(), key())
	case 2:
		write(&b, 0, scribeShelve, "name", key())
	case 3:
		b.Ops = append(b.Ops, take(), take())
		b.Ops[len(b.Ops)-2].Group = 2
	case 4:
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Flush, N: 1, DB: 1})
	}
	return b
}
