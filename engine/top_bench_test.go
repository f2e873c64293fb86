package engine

import (
	"fmt"
	"math/rand"
	"testing"
)

// BenchmarkTopCount counts keys of 22 bytes, as each decision does, in the shards of an
// engine in turn: one key, random keys of some, and keys that never repeat. A million
// counts span ten seconds.
//
//	go test ./engine -run=- -bench=TopCount
func BenchmarkTopCount(b *testing.B) {
	for _, keys := range []int{1, 1_000, 1_000_000, 0} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			var (
				e    = New(Options{})
				key  = []byte("key:000000000000000000")
				hash = make([]uint64, 1<<16)
			)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%len(hash) == 0 {
					b.StopTimer()
					for j := range hash {
						hash[j] = rand.Uint64()
						if keys > 0 {
							hash[j] = uint64(rand.Intn(keys)+1) * 0x9e3779b97f4a7c15
						}
					}
					b.StartTimer()
				}
				h := hash[i%len(hash)]
				s := &e.shards[h>>(64-e.bits)]
				s.tops[TopHot].current(Instant(i)*10_000, &s.topScratch).count(h<<e.bits, key, &s.topScratch)
			}
		})
	}
}

// BenchmarkTopRotate ends an interval in which a full number of new keys was counted.
func BenchmarkTopRotate(b *testing.B) {
	var (
		p   = topWindows{keys: 256}
		now Instant
		key = []byte("key:000000000000000000")
		s   topScratch
	)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range 5000 {
			p.current(now, &s).count(rand.Uint64(), key, &s)
		}
		now += intervalNanos
		b.StartTimer()
		p.rotate(now, &s)
	}
}

// BenchmarkTop queries an engine that has counted for more than an hour.
func BenchmarkTop(b *testing.B) {
	e := New(Options{})
	now := Instant(1e18)
	for i := range 1_000_000 {
		h := rand.Uint64()
		if i%2 == 0 {
			h = uint64(rand.Intn(1000)+1) * 0x9e3779b97f4a7c15
		}
		s := &e.shards[h>>(64-e.bits)]
		now += 4e6
		s.tops[TopHot].current(now, &s.topScratch).count(h<<e.bits, fmt.Appendf(nil, "key:%018d", h), &s.topScratch)
	}
	for window, name := range []string{"minute", "hour"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.Top(now, TopHot, TopWindow(window), 10)
			}
		})
	}
}
