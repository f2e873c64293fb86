package simtest

import (
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/persist"
)

// realEntries returns entries with everything that Members has.
func realEntries() (all [][]byte) {
	e := engine.New(engine.Options{Commands: bare})
	x := &everything{rng: rand.New(rand.NewPCG(7, 3)), now: 1e18, e: e}
	for range 2 * len(makers) {
		b := x.next(bare.Level())
		var entry persist.Entry
		entry.Append(x.now, b)
		all = append(all, entry.Bytes())
		e.Apply(x.now, b)
		x.told(b)
	}
	return all
}

// replayMutated decodes and replays entries, with the calls of a server. Bytes that are no entry
// must be an error.
func replayMutated(entries ...[]byte) {
	e := engine.New(engine.Options{Shards: 2, Commands: bare})
	replay, decoder := e.NewReplay(inParallel), persist.Decoder{Commands: bare}
	for _, data := range entries {
		_ = decoder.Decode(data, func(at engine.Instant, b *engine.Batch) error {
			replay.Apply(at, b)
			return nil
		})
	}
	replay.Finish()
}

// FuzzReplay replays any bytes: a panic fails it.
func FuzzReplay(f *testing.F) {
	for _, entry := range realEntries() {
		f.Add(entry)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { replayMutated(data) })
}

// TestMutatedEntries replays intact entries, and then mutated entries: with flipped bits,
// replaced bytes, or without their end.
func TestMutatedEntries(t *testing.T) {
	all, r := realEntries(), rand.New(rand.NewPCG(1, 1))
	for range 300 {
		entries := [][]byte{}
		for range 1 + r.IntN(8) {
			data := append([]byte(nil), all[r.IntN(len(all))]...)
			for range r.IntN(4) {
				at := r.IntN(len(data))
				if data[at] ^= 1 << r.IntN(8); r.IntN(3) == 0 {
					data[at] = byte(r.Uint32())
				}
			}
			entries = append(entries, data[:len(data)-r.IntN(2)*r.IntN(len(data))])
		}
		replayMutated(entries...)
	}
}
