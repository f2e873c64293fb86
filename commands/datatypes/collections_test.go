package datatypes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestFrozenCollections freezes an engine, changes all of its values while the snapshot is
// read, and compares an engine that has loaded the snapshot with the moment of the freeze.
func TestFrozenCollections(t *testing.T) {
	for seed := range uint64(12 / testwait.Slowdown()) {
		r := lineSource{rand.New(rand.NewPCG(seed, 8)), false, families[seed%uint64(len(families))]}
		o := engine.Options{Shards: 2, Seed: [16]byte{3}, Commands: allCalls}
		e, now := engine.New(o), someTime
		for range 10 {
			for range 60 {
				e.Apply(now, lines(r, 5))
			}
			want := e.Digest(now)
			n, loaded := e.Freeze(), engine.New(o)
			for shard := range n.Shards() {
				for {
					e.Apply(now, lines(r, 20))
					block, _, ok := n.Next(shard, nil)
					if !ok {
						break
					}
					if err := loaded.Load(block); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			}
			n.Close()
			if got := loaded.Digest(now); got != want {
				t.Fatalf("seed %d: digest %x of the snapshot, want %x", seed, got, want)
			}
		}
	}
}

// TestDamagedCollections: a block with a byte changed is refused, or loaded and digested.
func TestDamagedCollections(t *testing.T) {
	r := lineSource{rand.New(rand.NewPCG(1, 9)), false, ""}
	for seed := range 40 {
		r.family = families[seed%len(families)]
		e := engine.New(engine.Options{Commands: allCalls})
		for range 100 {
			e.Apply(someTime, lines(r, 5))
		}
		for k := range 6 {
			block, there := e.Export(someTime, 0, fmt.Append(nil, "k", k), nil)
			if !there {
				continue
			}
			for range 30 {
				damaged := bytes.Clone(block)
				damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
				other := engine.New(engine.Options{Commands: allCalls})
				if other.Load(damaged) != nil && other.Len() != 0 {
					t.Fatalf("a refused block of %x left a key", damaged[:20])
				}
				other.Digest(someTime)
			}
		}
	}
}

// TestKeyBytes measures the memory of small values.
func TestKeyBytes(t *testing.T) {
	keys := 100_000 / testwait.Slowdown()
	for _, tt := range []struct {
		name  string
		lines []string // # is the number of the key
		most  int64    // bytes a key
	}{
		{"a counter with an expiry", []string{"INCR user:#:counter", "PEXPIRE user:#:counter 100000000"}, 64},
		{"a hash of two fields", []string{"HSET user:#:bucket tokens 17 ts 1750000000123"}, 110},
		{"a sorted set of ten", []string{"ZADD user:#:window 1750000000123 req:a1 1750000000124 req:a2 1750000000125 " +
			"req:a3 1750000000126 req:a4 1750000000127 req:a5 " +
			"1750000000128 req:a6 1750000000129 req:a7 1750000000130 req:a8 1750000000131 req:a9 1750000000132 req:a0"}, 300},
	} {
		e := engine.New(engine.Options{Commands: allCalls})
		var b engine.Batch
		for i := range keys {
			for _, line := range tt.lines {
				words := bytes.Fields(bytes.ReplaceAll([]byte(line), []byte("#"), fmt.Append(nil, i)))
				command := Find(words[0])
				command.SetCall(b.AddCall(0), words[1:])
			}
			if len(b.Ops) > 1000 || i == keys-1 {
				e.Apply(someTime, &b)
				b.Reset()
			}
		}
		got := e.MemoryBytes() / int64(keys)
		t.Logf("%s: %d bytes a key", tt.name, got)
		if got > tt.most {
			t.Errorf("%s takes %d bytes a key, want at most %d", tt.name, got, tt.most)
		}
	}
}
