package values

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLawOfObservation makes the same changes to values in Stores with other contents and
// histories. One Store is restored from snapshots and frozen meanwhile. The test expects
// the same elements, orders and snapshots.
func TestLawOfObservation(t *testing.T) {
	r := testRandom(t)
	for k := range kinds {
		var (
			seed         = r.Uint64()
			plain, busy  = New(testSeed), New(testSeed)
			same, again  = rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
			a, b         Head
			others       [5]Head
			frozen       = false
			first, other []byte
		)
		for i := range 4000 {
			a = change(plain, k, a, same)
			for j := range others {
				others[j] = change(busy, kind(j), others[j], r)
			}
			b = change(busy, k, b, again)
			if r.IntN(100) == 0 && b.Ref != 0 {
				restored := copyValue(t, busy, b, busy, 1+r.IntN(3000))
				busy.Free(b)
				b = restored
			}
			if r.IntN(100) == 0 {
				if frozen {
					busy.Thaw()
				} else {
					busy.Freeze()
				}
				frozen = !frozen
			}
			if i%50 > 0 || a.Ref == 0 && b.Ref == 0 {
				continue
			}
			if got, want := dump(busy, k, b), dump(plain, k, a); !slices.Equal(got, want) {
				t.Fatalf("kind %d: %.200q, want %.200q", k, got, want)
			}
			first, _ = plain.Append(first[:0], a, 0, 1<<30)
			other, _ = busy.Append(other[:0], b, 0, 1<<30)
			if !bytes.Equal(first, other) {
				t.Fatalf("kind %d: %.200q, want %.200q", k, other, first)
			}
		}
	}
}

// TestSeeds expects of another seed that it changes only the order of large values.
func TestSeeds(t *testing.T) {
	s, other := New(testSeed), New([16]byte{})
	for _, n := range []int{100, 1000} {
		a, b := s.Set(Head{}), other.Set(Head{})
		for i := range n {
			a.Add(fmt.Append(nil, "m", i))
			b.Add(fmt.Append(nil, "m", i))
		}
		got, want := dump(s, setKind, a.Head), dump(other, setKind, b.Head)
		if slices.Equal(got, want) != (n == 100) {
			t.Errorf("%d members: same order is %v", n, n != 100)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d members: %.100q, want %.100q", n, got, want)
		}
	}
}

// TestUsage expects of the usage of values that it adds up to the memory of the Store.
func TestUsage(t *testing.T) {
	for k := range kinds {
		s := New(testSeed)
		r := rand.New(rand.NewPCG(1, 2))
		small, all := int64(0), int64(0)
		for i := range 300 {
			var h Head
			for range 1 + r.IntN(1000*(i%2)+20) {
				h = change(s, k, h, r)
			}
			all += s.Usage(h)
			if f := h.Ref.form(); f != hashTree && f != setTree && f != sortedTree && f != listChunks {
				for s.Collect(1000) {
				}
				usage, before := s.Usage(h), s.UsedBytes()
				if s.Free(h); before-s.UsedBytes() != usage {
					t.Fatalf("kind %d: usage is %d, Free freed %d bytes", k, usage, before-s.UsedBytes())
				}
				small += usage
			}
		}
		for s.Collect(1000) {
		}
		if got := s.UsedBytes(); all-small < got*95/100 || all-small > got*105/100 {
			t.Errorf("kind %d: usage of large values is %d, of %d bytes", k, all-small, got)
		}
	}
	s := New(testSeed)
	for _, h := range []func([]byte) Head{
		func(b []byte) Head { v := s.Hash(Head{}); v.Set([]byte("f"), b); return v.Head },
		func(b []byte) Head { v := s.Set(Head{}); v.Add(b); return v.Head },
		func(b []byte) Head { v := s.SortedSet(Head{}); v.Add(b, 1, 0); return v.Head },
		func(b []byte) Head { v := s.List(Head{}); v.Insert(0, b); return v.Head },
		func(b []byte) Head { v := s.List(Head{}); v.Reserve(len(b)); v.Insert(0, b); return v.Head },
		func(b []byte) Head { v := s.String(Head{}); v.Set(b); return v.Head },
	} {
		if got := s.Usage(h(make([]byte, 100_000))); got < 100_000 || got > 112_000 {
			t.Errorf("usage with 100000 bytes is %d", got)
		}
	}
}
