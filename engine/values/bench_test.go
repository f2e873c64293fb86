package values

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// reportCPU reports the processor time of the benchmark from its call on, which other
// processes of a busy machine do not change.
func reportCPU(b *testing.B) (stop func()) {
	begin := cpuTime()
	return func() { b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var benchSizes = []int{2, 10, 100, 10_000, 1_000_000}

// members returns n texts of 13 to 19 bytes.
func benchMembers(n int) (all [][]byte) {
	for i := range n {
		all = append(all, fmt.Appendf(nil, "member:id:%d", 100_000+i*7))
	}
	return all
}

func BenchmarkHash(b *testing.B) {
	for _, n := range benchSizes {
		s, all, value := New(testSeed), benchMembers(n), []byte("1699999999123")
		h := s.Hash(Head{})
		for _, field := range all {
			h.Set(field, value)
		}
		r := rand.New(rand.NewPCG(1, 2))
		b.Run(fmt.Sprintf("get/fields=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				if _, ok := h.Get(all[r.IntN(n)]); !ok {
					b.Fatal("a field is missing")
				}
			}
		})
		b.Run(fmt.Sprintf("set/fields=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				h.Set(all[r.IntN(n)], value)
			}
		})
	}
}

// BenchmarkWindow does the changes of a sliding window: the oldest member goes, a new
// member comes, and all members are counted.
func BenchmarkWindow(b *testing.B) {
	for _, n := range benchSizes {
		s := New(testSeed)
		z := s.SortedSet(Head{})
		now, buf := int64(1699999999123), make([]byte, 0, 20)
		add := func() {
			now += 7
			buf = strconv.AppendInt(buf[:0], now, 10)
			z.Add(buf, float64(now), 0)
		}
		for range n {
			add()
		}
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				z.RemoveRange(0, z.UpTo(float64(now-int64(n-1)*7)))
				add()
				if z.Count != n {
					b.Fatalf("%d members, want %d", z.Count, n)
				}
			}
		})
	}
}

func BenchmarkRank(b *testing.B) {
	for _, n := range benchSizes {
		s, all := New(testSeed), benchMembers(n)
		z := s.SortedSet(Head{})
		r := rand.New(rand.NewPCG(1, 2))
		for _, member := range all {
			z.Add(member, r.Float64(), 0)
		}
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				z.Rank(all[r.IntN(n)])
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, n := range benchSizes[:4] {
		s, all := New(testSeed), benchMembers(n)
		z := s.SortedSet(Head{})
		for i, member := range all {
			z.Add(member, float64(i), 0)
		}
		dst := make([]byte, 0, 100)
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				w := z.Walk(0)
				for e, _, ok := w.Next(); ok; e, _, ok = w.Next() {
					dst = e.Append(dst[:0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")
		})
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, n := range benchSizes[:4] {
		s, entry := New(testSeed), []byte("an entry of a list")
		l := s.List(Head{})
		for range n {
			l.Reserve(len(entry))
			l.Insert(l.Count, entry)
		}
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				l.Insert(0, entry)
				l.Delete(l.Count - 1)
			}
		})
	}
}

// BenchmarkSnapshot writes and reads small hashes.
func BenchmarkSnapshot(b *testing.B) {
	s := New(testSeed)
	h := s.Hash(Head{})
	h.Set([]byte("tokens"), []byte("10"))
	h.Set([]byte("ts"), []byte("1699999999123"))
	part, _ := s.Append(nil, h.Head, 0, 8<<10)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			part, _ = s.Append(part[:0], h.Head, 0, 8<<10)
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			h, _, _, err := s.Parse(Head{}, part)
			if err != nil {
				b.Fatal(err)
			}
			s.Free(h)
		}
	})
}

// BenchmarkFrozen changes one of many small values, each for the first time after a
// freeze, or again.
func BenchmarkFrozen(b *testing.B) {
	const values = 200_000
	s := New(testSeed)
	heads := make([]Head, values)
	set := func(i int, value byte) {
		h := s.Hash(heads[i])
		h.Set([]byte("tokens"), []byte{value, '0'})
		heads[i] = h.Head
	}
	for i := range heads {
		set(i, '1')
		h := s.Hash(heads[i])
		h.Set([]byte("ts"), []byte("1699999999123"))
		heads[i] = h.Head
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.Run("not frozen", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			set(r.IntN(values), '2')
		}
	})
	b.Run("first change of a page", func(b *testing.B) {
		defer reportCPU(b)()
		step := pageBytes / 32
		for i := 0; b.Loop(); i += step {
			if i >= values || i == 0 {
				s.Thaw()
				s.Freeze()
				i = 0
			}
			set(i, '3')
		}
	})
	b.Run("all changes of a freeze", func(b *testing.B) {
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			if i%values == 0 {
				s.Thaw()
				s.Freeze()
			}
			set(r.IntN(values), '4')
		}
	})
	b.Run("freeze", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			s.Thaw()
			s.Freeze()
		}
	})
	s.Thaw()
}
