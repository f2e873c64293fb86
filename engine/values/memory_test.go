package values

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// change makes a random change to a value.
func change(s *Store, k kind, h Head, r *rand.Rand) Head {
	var buf [24]byte
	member := fmt.Appendf(buf[:0], "member:%d", r.IntN(400))
	score := float64(r.IntN(1000))
	remove := r.IntN(2) == 0
	switch k {
	case stringKind:
		v := s.String(h)
		if v.Count > 100_000 || remove {
			v.Set(member)
		} else {
			v.Write(r.IntN(v.Count+10), member)
		}
		return v.Head
	case hashKind:
		v := s.Hash(h)
		if remove {
			v.Delete(member)
		} else {
			v.Set(member, member[:r.IntN(len(member))])
		}
		return v.Head
	case listKind:
		v := s.List(h)
		if remove && v.Count > 0 {
			v.Delete(r.IntN(v.Count))
		} else {
			v.Reserve(len(member))
			v.Insert(r.IntN(v.Count+1), member)
		}
		return v.Head
	case setKind:
		v := s.Set(h)
		if remove {
			v.Remove(member)
		} else {
			v.Add(member)
		}
		return v.Head
	default:
		v := s.SortedSet(h)
		if remove {
			v.Remove(member)
		} else {
			v.Add(member, score, 0)
		}
		return v.Head
	}
}

// TestBlobs expects of blobs that they keep their bytes, and of memory that it is exact.
func TestBlobs(t *testing.T) {
	r := testRandom(t)
	var (
		m    memory
		all  []blobRef
		want []uint32
	)
	fill := func(b []byte, x uint32) {
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, x)
		}
	}
	sizes := []int{4, 16, 17, 24, 100, 128, 129, 1000, 4095, 4096, 4097, 5000, maxBlob}
	for i := range 30_000 {
		if n := len(all); n > 0 && r.IntN(1000) < n {
			j := r.IntN(n)
			b := m.view(all[j])
			for k := 0; k+4 <= len(b); k += 4 {
				if got := binary.LittleEndian.Uint32(b[k:]); got != want[j] {
					t.Fatalf("blob %d of %d bytes has %d at %d, want %d", j, len(b), got, k, want[j])
				}
			}
			m.release(all[j])
			all[j], want[j] = all[n-1], want[n-1]
			all, want = all[:n-1], want[:n-1]
			continue
		}
		size := sizes[r.IntN(len(sizes))]
		ref := m.alloc(size)
		if m.capacity(ref) < size {
			t.Fatalf("alloc(%d) has %d bytes", size, m.capacity(ref))
		}
		if m.used > m.bytes {
			t.Fatalf("%d bytes are used, of %d", m.used, m.bytes)
		}
		fill(m.edit(ref), uint32(i))
		all, want = append(all, ref), append(want, uint32(i))
	}
	for _, ref := range all {
		m.release(ref)
	}
	if m.bytes != 0 || m.used != 0 || m.pages != 0 || m.classes != [len(slotSizes)]pageNumber{} {
		t.Errorf("%d bytes are used after all was released, want 0", m.bytes)
	}
}

func TestSlotSizes(t *testing.T) {
	for i, size := range slotSizes {
		if size%slotStep != 0 || i > 0 && size <= slotSizes[i-1] || pageBytes/size > 1<<slotBits {
			t.Errorf("size %d of class %d", size, i)
		}
		if per := pageBytes / size; i > 15 && (size+slotStep)*per <= pageBytes {
			t.Errorf("class %d: slots of %d bytes fit %d times too", i, size+slotStep, per)
		}
	}
	for n := 1; n <= maxSlot; n++ {
		class := slotClasses[(n+slotStep-1)/slotStep]
		if slotSizes[class] < uint32(n) || class > 0 && slotSizes[class-1] >= uint32(n) {
			t.Fatalf("%d bytes have class %d of %d bytes", n, class, slotSizes[class])
		}
	}
	if got := slotSizes[len(slotSizes)-1]; got != maxSlot {
		t.Errorf("the largest slot has %d bytes, want %d", got, maxSlot)
	}
}

// TestChurn expects memory not to grow while values are replaced.
func TestChurn(t *testing.T) {
	r := testRandom(t)
	s := New(testSeed)
	heads := make([]Head, 300)
	after := int64(0)
	for i := range 200_000 {
		j := r.IntN(len(heads))
		if r.IntN(50) == 0 {
			s.Free(heads[j])
			heads[j] = Head{}
		}
		heads[j] = change(s, kind(j)%kinds, heads[j], r)
		if i == 50_000 {
			after = s.Bytes()
		}
	}
	if got := s.Bytes(); got > after+after/4 {
		t.Errorf("%d bytes are used, %d before", got, after)
	}
	for _, h := range heads {
		s.Free(h)
	}
	for s.Collect(1000) {
	}
	if s.Bytes() != 0 {
		t.Errorf("%d bytes are used after all was freed, want 0", s.Bytes())
	}
}

// TestFreeInSteps expects a large value to be freed by later changes.
func TestFreeInSteps(t *testing.T) {
	s := New(testSeed)
	z := s.SortedSet(Head{})
	for i := range 10_000 {
		z.Add(fmt.Append(nil, i), 1, 0)
	}
	full := s.Bytes()
	s.Free(z.Head)
	if got := s.Bytes(); got < full/2 {
		t.Errorf("%d of %d bytes are used after Free, want most", got, full)
	}
	h := s.Hash(Head{})
	for range 10_000/collectPerChange + 1 {
		h.Set([]byte("f"), []byte("v"))
	}
	if got := s.Bytes(); got > 2*(pageBytes+pageHeadBytes) {
		t.Errorf("%d bytes are used, want one page", got)
	}
}

// TestNoAllocations expects that operations on small values do not allocate.
func TestNoAllocations(t *testing.T) {
	s := New(testSeed)
	var (
		field, value, other = []byte("tokens"), []byte("1699999999123"), []byte("x:1")
		dst                 = make([]byte, 0, 1000)
		large               = s.Hash(Head{})
	)
	for i := range 1000 {
		large.Set(fmt.Append(nil, "field", i), value)
	}
	for _, tt := range []struct {
		name string
		do   func()
	}{
		{"string", func() {
			v := s.String(Head{})
			v.Set(value)
			v.Write(v.Count, value)
			dst = v.Append(dst[:0], 0, v.Count)
			s.Free(v.Head)
		}},
		{"hash", func() {
			v := s.Hash(Head{})
			v.Set(field, value)
			v.Set(other, value)
			e, _ := v.Get(field)
			dst = e.Append(dst[:0])
			w := v.Walk()
			for e, _, ok := w.Next(); ok; e, _, ok = w.Next() {
				dst = e.Append(dst[:0])
			}
			v.Delete(field)
			s.Free(v.Head)
		}},
		{"large hash", func() {
			large.Set(field, value)
			w := large.Scan(0, 10)
			for e, _, ok := w.Next(); ok; e, _, ok = w.Next() {
				dst = e.Append(dst[:0])
			}
			large.Delete(field)
		}},
		{"list", func() {
			v := s.List(Head{})
			v.Reserve(10)
			v.Insert(0, value)
			v.Insert(1, other)
			dst = v.At(1).Append(dst[:0])
			v.RemoveEqual(other, 0)
			v.Delete(0)
		}},
		{"set", func() {
			v := s.Set(Head{})
			v.Add(value)
			v.Add(other)
			v.Contains(other)
			v.Remove(value)
			s.Free(v.Head)
		}},
		{"sorted set", func() {
			v := s.SortedSet(Head{})
			v.Add(value, 1699999999123, 0)
			v.Add(other, 1.5, Increment)
			v.RemoveRange(0, v.Below(2))
			w := v.WalkDown(0)
			for e, _, ok := w.Next(); ok; e, _, ok = w.Next() {
				dst = e.Append(dst[:0])
			}
			s.Free(v.Head)
		}},
	} {
		if n := testing.AllocsPerRun(200, tt.do); n > 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, n)
		}
	}
}

// TestMemoryPerValue bounds the memory of values that limiters have. The record with the
// Head and the key is not included.
func TestMemoryPerValue(t *testing.T) {
	const values = 20_000
	var large Head
	for _, tt := range []struct {
		name string
		most float64 // bytes
		make func(s *Store, i int)
	}{
		{"string of 40 bytes", 41, func(s *Store, i int) {
			v := s.String(Head{})
			v.Set(fmt.Appendf(nil, "%040d", i))
		}},
		{"hash of two fields", 25, func(s *Store, i int) {
			h := s.Hash(Head{})
			h.Set([]byte("tokens"), fmt.Append(nil, i%100))
			h.Set([]byte("ts"), fmt.Append(nil, 1699999999123+i))
		}},
		{"sorted set of ten times", 148, func(s *Store, i int) {
			z := s.SortedSet(Head{})
			for j := range 10 {
				at := 1699999999123 + i*1000 + j*7
				z.Add(fmt.Append(nil, at), float64(at), 0)
			}
		}},
		{"list of ten times", 90, func(s *Store, i int) {
			l := s.List(Head{})
			for j := range 10 {
				l.Insert(0, fmt.Append(nil, 1699999999123+i*1000+j*7))
			}
		}},
		{"set of ten integers", 25, func(s *Store, i int) {
			v := s.Set(Head{})
			for j := range 10 {
				v.Add(fmt.Append(nil, i+j*1000))
			}
		}},
		{"member of a large sorted set", 44, func(s *Store, i int) {
			z := s.SortedSet(large)
			z.Add(fmt.Append(nil, 1699999999123+i), float64(i), 0)
			large = z.Head
		}},
		{"field of a large hash", 29, func(s *Store, i int) {
			h := s.Hash(large)
			h.Set(fmt.Append(nil, "user:", i), fmt.Append(nil, i))
			large = h.Head
		}},
		{"entry of a large list", 9, func(s *Store, i int) {
			l := s.List(large)
			l.Reserve(100)
			l.Insert(l.Count, fmt.Append(nil, 1699999999123+i))
			large = l.Head
		}},
	} {
		s := New(testSeed)
		large = Head{}
		for i := range values {
			tt.make(s, i)
		}
		per := float64(s.Bytes()) / values
		t.Logf("%s: %.1f bytes", tt.name, per)
		if per > tt.most {
			t.Errorf("%s: %.1f bytes, want at most %.1f", tt.name, per, tt.most)
		}
	}
}

func TestCollectorHasLittleToDo(t *testing.T) {
	s := New(testSeed)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 100_000 {
		h := s.Hash(Head{})
		h.Set([]byte("tokens"), fmt.Append(nil, i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if objects := int64(after.HeapObjects) - int64(before.HeapObjects); objects > 3000 {
		t.Errorf("%d objects for 100000 values, want one for each page of 8 KB", objects)
	}
	runtime.KeepAlive(s)
}
