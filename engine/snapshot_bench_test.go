package engine

import (
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"testing"
	"time"
)

// fillInPlace takes one permit of each of n 22-byte keys.
func fillInPlace(e *Engine, p Params, n int) {
	b := &Batch{}
	for i := range 64 {
		b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1, Key: fmt.Appendf(nil, "key:%018d", i)})
	}
	for i := 0; i < n; i += len(b.Ops) {
		for j := range b.Ops {
			numberKey(b.Ops[j].Key, i+j)
		}
		e.Apply(1e18, b)
	}
}

func numberKey(key []byte, n int) {
	for at := len(key) - 1; key[at] != ':'; at, n = at-1, n/10 {
		key[at] = '0' + byte(n%10)
	}
}

// takeRandom takes from random keys in batches of 64 until stop, and returns the duration
// of each batch.
func takeRandom(e *Engine, p Params, n int, stop func(batches int) bool) (took []time.Duration) {
	b := &Batch{}
	for range 64 {
		b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1, Key: fmt.Appendf(nil, "key:%018d", 0)})
	}
	took = make([]time.Duration, 0, 1<<20)
	for !stop(len(took)) {
		for j := range b.Ops {
			numberKey(b.Ops[j].Key, rand.Intn(n))
		}
		start := time.Now()
		e.Apply(Instant(1e18+1000*len(took)), b)
		took = append(took, time.Since(start))
	}
	return took
}

// readShards reads a snapshot and passes each block to write.
func readShards(n *Snapshot, write func(block []byte)) {
	var buffer []byte
	for shard := range n.Shards() {
		for {
			block, _, ok := n.Next(shard, buffer[:0])
			if !ok {
				break
			}
			buffer = block
			write(block)
		}
	}
}

// writeSlowly spins for the time to write a block to disk.
func writeSlowly(block []byte) {
	const perByte = 4 * time.Nanosecond
	for start := time.Now(); time.Since(start) < time.Duration(len(block))*perByte; {
	}
}

// BenchmarkSnapshot reports the cost of batches of 64 Takes from random keys before,
// during and after a snapshot that one goroutine reads and writes, the cost of reading
// and loading on an idle engine, and the size of the blocks.
//
//	go test ./engine -run=- -bench=Snapshot -benchtime=1x
func BenchmarkSnapshot(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			for range b.N {
				benchmarkSnapshot(b, benchParams, keys)
			}
		})
	}
}

func benchmarkSnapshot(b *testing.B, p Params, keys int) {
	e := New(Options{})
	fillInPlace(e, p, keys)
	runtime.GC()
	report := func(name string, took []time.Duration) {
		var sum time.Duration
		for _, d := range took {
			sum += d
		}
		slices.Sort(took)
		b.ReportMetric(float64(sum.Nanoseconds())/float64(64*len(took)), "ns/Take-"+name)
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "µs-p99-"+name)
		b.ReportMetric(float64(took[len(took)*999/1000].Nanoseconds())/1000, "µs-p99.9-"+name)
		b.ReportMetric(float64(took[len(took)-1].Nanoseconds())/1000, "µs-max-"+name)
	}
	some := func(batches int) bool { return batches == 30_000 }
	takeRandom(e, p, keys, some)
	report("before", takeRandom(e, p, keys, some))

	n := e.Freeze()
	done := make(chan struct{})
	go func() {
		readShards(n, writeSlowly)
		close(done)
	}()
	start := time.Now()
	report("during", takeRandom(e, p, keys, func(int) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}))
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-during")
	b.ReportMetric(float64(e.Stats().ImageBytes)/float64(keys), "B/key-images")
	n.Close()
	report("after", takeRandom(e, p, keys, some))

	start = time.Now()
	n = e.Freeze()
	b.ReportMetric(float64(time.Since(start).Microseconds()), "µs-freeze")
	start = time.Now()
	readShards(n, func([]byte) {})
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-read")
	n.Close()
	var blocks [][]byte
	bytes := 0
	n = e.Freeze()
	readShards(n, func(block []byte) {
		blocks = append(blocks, slices.Clone(block))
		bytes += len(block)
	})
	n.Close()
	b.ReportMetric(float64(bytes)/float64(keys), "B/key-blocks")
	before := e.Stats().MemoryBytes
	e = New(Options{})
	runtime.GC()
	start = time.Now()
	for _, block := range blocks {
		if err := e.Load(block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-load")
	b.ReportMetric(float64(e.Stats().MemoryBytes)/float64(keys), "B/key-loaded")
	b.ReportMetric(float64(before)/float64(keys), "B/key")
}
