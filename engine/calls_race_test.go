package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"limitsrv/engine"
)

// TestRaceCalls moves numbers between keys of several shards, concurrently, while other
// goroutines read, sweep, learn and take snapshots: the sum stays the same for each of
// them.
func TestRaceCalls(t *testing.T) {
	const keys, start = 20, 1000
	e := engine.New(engine.Options{Shards: 8, Commands: toy{}})
	at := instant("2025-06-15T12:34:56Z")
	key := func(r *rand.Rand) string { return fmt.Sprint("key ", r.IntN(keys)) }
	for i := range keys {
		do(e, at, toySet, fmt.Sprint("key ", i), strconv.Itoa(start), "0")
	}
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			learn(e, fmt.Sprint("source ", n))
			if sum, there := sumOf(t, e.Freeze()); sum != keys*start || there != keys {
				t.Errorf("a snapshot has a sum of %d in %d keys, want %d in %d", sum, there, keys*start, keys)
				return
			}
		}
	})
	race(e, func(g int, r *rand.Rand, now func() engine.Instant) {
		var b engine.Batch
		for range 40 {
			b.Reset()
			for range 1 + r.IntN(8) {
				switch r.IntN(4) {
				case 0:
					call(&b, 0, toyGet, key(r))
				case 1:
					b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: counter(engine.Fixed, 100), N: 1,
						Key: []byte("limit " + key(r))})
				default:
					call(&b, 0, toyMove, key(r), key(r))
				}
			}
			b.Atomic = r.IntN(3) == 0
			e.Apply(now(), &b)
		}
	})
	close(done)
	watcher.Wait()
	if sum, there := sumOf(t, e.Freeze()); sum != keys*start || there != keys {
		t.Errorf("at the end the sum is %d in %d keys, want %d in %d", sum, there, keys*start, keys)
	}
}

// sumOf reads and closes a snapshot, and returns the sum of its numbers and how many there
// are.
func sumOf(t *testing.T, n *engine.Snapshot) (sum, there int64) {
	r := read(t, n)
	r.all()
	n.Close()
	e := engine.New(engine.Options{Commands: toy{}})
	for _, block := range r.blocks {
		if err := e.Load(block); err != nil {
			t.Error(err)
		}
	}
	e.Scan(n.Now(), 0, 0, 1<<20, func(key []byte, a engine.Alg) {
		if a == engine.Int {
			there++
		}
	})
	for i := range there {
		text, _, _ := strings.Cut(do(e, n.Now(), toyGet, fmt.Sprint("key ", i)), " ")
		number, _ := strconv.ParseInt(text, 10, 64)
		sum += number
	}
	return sum, there
}
