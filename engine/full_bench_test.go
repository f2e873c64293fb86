package engine

import (
	"fmt"
	"testing"
)

// fullMemory is the bound of BenchmarkFull.
const fullMemory = 64 << 20

// BenchmarkFull requests new keys while the memory is full of live keys, in batches of 64.
//
//	go test ./engine -run=- -bench=Full
func BenchmarkFull(b *testing.B) {
	for _, evict := range []bool{false, true} {
		b.Run(fmt.Sprintf("evict=%t", evict), func(b *testing.B) {
			e := New(Options{MaxMemory: fullMemory, Evict: evict})
			fill(e, benchParams, fullMemory/48)
			before := e.Stats()
			batch, key := &Batch{}, make([]byte, 0, 64*22)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += 64 {
				batch.Reset()
				key = key[:0]
				for j := range 64 {
					from := len(key)
					key = fmt.Appendf(key, "new:%018d", i+j)
					batch.Ops = append(batch.Ops, Op{Kind: Take, Params: benchParams, N: 1, Key: key[from:]})
				}
				now := Instant(1e18 + 1000*i)
				e.MakeRoom(now, batch)
				e.Apply(now, batch)
			}
			after := e.Stats()
			b.ReportMetric(float64(after.Refused-before.Refused)/float64(b.N), "refused/op")
			b.ReportMetric(float64(after.Evicted-before.Evicted)/float64(b.N), "evicted/op")
		})
	}
}
