package topk

import (
	"fmt"
	"math/rand"
	"testing"
)

// BenchmarkCount counts keys of 22 bytes, as each decision does, in 16 Windows in turn: one
// key, random keys of some, and keys that never repeat. A million counts span ten seconds.
//
//	go test ./engine/topk -run=- -bench=Count
func BenchmarkCount(b *testing.B) {
	for _, keys := range []int{1, 1_000, 1_000_000, 0} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			var (
				s      = newShards(16, 256)
				key    = []byte("key:000000000000000000")
				hashes = make([]uint64, 1<<16)
			)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%len(hashes) == 0 {
					b.StopTimer()
					for j := range hashes {
						hashes[j] = rand.Uint64()
						if keys > 0 {
							hashes[j] = uint64(rand.Intn(keys)+1) * 0x9e3779b97f4a7c15
						}
					}
					b.StartTimer()
				}
				h := hashes[i%len(hashes)]
				s.windows[h%16].Current(int64(i)*10_000, &s.scratch).Count(h, 0, key, &s.scratch)
			}
		})
	}
}

// BenchmarkRotate ends an interval with a full number of new keys.
func BenchmarkRotate(b *testing.B) {
	var (
		p   = New(256, longestKey)
		now int64
		key = []byte("key:000000000000000000")
		s   Scratch
	)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range 5000 {
			p.Current(now, &s).Count(rand.Uint64(), 0, key, &s)
		}
		now += intervalNanos
		b.StartTimer()
		p.rotate(now, &s)
	}
}

// BenchmarkQuery queries 16 Windows that have counted for more than an hour.
func BenchmarkQuery(b *testing.B) {
	s := newShards(16, 256)
	now := int64(1e18)
	for i := range 1_000_000 {
		h := rand.Uint64()
		if i%2 == 0 {
			h = uint64(rand.Intn(1000)+1) * 0x9e3779b97f4a7c15
		}
		now += 4e6
		s.count(now, h, fmt.Appendf(nil, "key:%018d", h))
	}
	for window, name := range []string{"minute", "hour"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.top(now, Window(window), 10)
			}
		})
	}
}
