package engine_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestAimedKeys adds keys with hashes that share many bits, and forgets them: neither the memory nor
// the answers may show it. The directory of a page of four keys would have a million entries.
func TestAimedKeys(t *testing.T) {
	var (
		groups = aimedKeys()
		e      = engine.New(engine.Options{Shards: 1, Seed: aimedSeed})
		now    = instant("2025-06-15T12:34:56Z")
		apply  = func(kind engine.Kind, keys [][]byte) (changed int) {
			b := engine.Batch{}
			for _, key := range keys {
				b.Ops = append(b.Ops, engine.Op{Kind: kind, Key: key, Params: counter(engine.Fixed, 10), N: 1})
			}
			e.Apply(now, &b)
			for _, d := range b.Decisions {
				if d.Allowed > 0 {
					changed++
				}
			}
			return changed
		}
		added = 0
	)
	for _, group := range groups {
		if got := apply(engine.Take, group); got != len(group) {
			t.Fatalf("%d of %d aimed keys were added", got, len(group))
		}
		added += len(group)
		if most := int64(added) * 2 << 10; e.MemoryBytes() > most {
			t.Fatalf("%d aimed keys of 900 bytes take %d bytes, want at most %d", added, e.MemoryBytes(), most)
		}
	}
	for _, count := range []int{1, 3, 1000} {
		visits := scanAll(t, e, now, count)
		for _, group := range groups {
			for _, key := range group {
				if visits[string(key)] != 1 {
					t.Fatalf("COUNT %d: an aimed key was visited %d times", count, visits[string(key)])
				}
			}
		}
	}
	empty := int64(0)
	for round := range 5 {
		for _, group := range groups {
			if got := apply(engine.Forget, group); got != len(group) {
				t.Errorf("%d of %d aimed keys were there", got, len(group))
			}
		}
		e.Sweep(now, 10_000)
		if round == 0 {
			empty = e.MemoryBytes()
		}
		if e.Len() != 0 || e.MemoryBytes() > 64<<10 || e.MemoryBytes() > empty {
			t.Errorf("round %d: %d keys in %d bytes are left, want none in %d", round, e.Len(), e.MemoryBytes(), empty)
		}
		for _, group := range groups {
			apply(engine.Take, group)
		}
	}
}

// TestScanCursorsTellNothing compares cursors of SCAN with the order of the scan. A scan visits keys
// by their hashes, and no bit of a cursor may follow from this order.
func TestScanCursorsTellNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 1))
	e := engine.New(engine.Options{Shards: 4})
	now := instant("2025-06-15T12:34:56Z")
	for range 400 {
		var b engine.Batch
		for range 100 {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: randomKey(r), Params: counter(engine.Fixed, 10), N: 1})
		}
		e.Apply(now, &b)
	}
	var cursors []uint64
	for cursor := uint64(0); ; {
		if cursor = e.Scan(now, 0, cursor, 1, func([]byte, engine.Alg) {}); cursor == 0 {
			break
		}
		cursors = append(cursors, cursor)
	}
	rising, ones := 0, 0
	for i, c := range cursors {
		ones += bits.OnesCount64(c)
		if i > 0 && c > cursors[i-1] {
			rising++
		}
		if c >= 1<<48 {
			t.Fatalf("cursor %d, want less than 2^48", c)
		}
	}
	n := len(cursors)
	if n < 300 || rising < n/3 || rising > 2*n/3 || ones < 23*n || ones > 25*n {
		t.Errorf("of %d cursors %d are greater than the one before and %d bits are set, want about %d and %d", n, rising,
			ones, n/2, 24*n)
	}
}

// TestAimedKeysInSnapshot reads snapshots of keys with hashes that share many bits, while pages are
// split and merged.
func TestAimedKeysInSnapshot(t *testing.T) {
	var keys [][]byte
	for _, group := range aimedKeys() {
		keys = append(keys, group...)
	}
	for seed := range uint64(40 / testwait.Slowdown()) {
		var (
			r      = rand.New(rand.NewPCG(seed, 32))
			e      = engine.New(engine.Options{Shards: 1 << r.IntN(3), Seed: aimedSeed})
			now    = instant("2025-06-15T12:34:56Z")
			forget int // of 8 ops
			step   = func() {
				var b engine.Batch
				for range r.IntN(40) {
					op := engine.Op{Kind: engine.Take, Key: keys[r.IntN(len(keys))], Params: counter(engine.Fixed, 1000), N: 1}
					if r.IntN(8) < forget {
						op.Kind = engine.Forget
					}
					b.Ops = append(b.Ops, op)
				}
				e.Apply(now, &b)
				e.Sweep(now, r.IntN(30))
			}
		)
		forget = 1 + r.IntN(7)
		for range 20 {
			step()
		}
		want, digest := len(scanAll(t, e, now, 1)), e.Digest(now)
		n, into := e.Freeze(), engine.New(engine.Options{Shards: 4, Seed: aimedSeed})
		for shard := range n.Shards() {
			for last := uint64(0); ; {
				forget = r.IntN(9)
				step()
				block, first, ok := n.Next(shard, nil)
				if !ok {
					break
				}
				if first < last {
					t.Fatalf("seed %d: a block starts at %d, after one at %d", seed, first, last)
				}
				if last = first; into.Load(block) != nil {
					t.Fatalf("seed %d: a block can't be loaded", seed)
				}
			}
		}
		n.Close()
		if got := len(scanAll(t, into, now, 1)); got != want || into.Digest(now) != digest {
			t.Errorf("seed %d: %d keys with digest %x are in the snapshot, want %d with %x", seed, got, into.Digest(now), want,
				digest)
		}
	}
}
