package values

import (
	"bytes"
	"slices"
	"strconv"
	"testing"
)

func TestListModel(t *testing.T) {
	drive(t, listKind, 3000, func(d *driven, texts int) (func(), func() []string) {
		var (
			model []string
			large = false
			calm  = 0 // steps that mostly remove
		)
		return func() {
			l := d.store.List(d.head)
			b := randomText(d.r, texts)
			if d.r.IntN(3) == 0 {
				b = b[:min(len(b), 3)]
			}
			n := len(model)
			action := d.r.IntN(20)
			if calm--; calm > 0 && action < 8 {
				action += 8
			}
			if calm < -1500 && d.r.IntN(500) == 0 {
				calm = 1200
			}
			reserve := func() {
				l.Reserve(len(b))
				large = large || redisSize(model)+len(b) > 8192
			}
			switch {
			case action < 9:
				i := []int{0, n, n / 2, d.r.IntN(n + 1)}[d.r.IntN(4)]
				reserve()
				l.Insert(i, b)
				model = slices.Insert(model, i, string(b))
			case n == 0:
			case action < 15:
				i := []int{0, n - 1, n / 2, d.r.IntN(n)}[d.r.IntN(4)]
				l.Delete(i)
				model = slices.Delete(model, i, i+1)
			case action < 17:
				i := d.r.IntN(n)
				reserve()
				l.Set(i, b)
				model[i] = string(b)
			case action == 17 && d.r.IntN(30) == 0:
				from := d.r.IntN(n/2 + 1)
				to := n - d.r.IntN(n/2+1)
				to = max(to, from)
				l.Trim(from, to-from)
				model = slices.Clone(model[from:to])
			case action == 18 && d.r.IntN(8) == 0:
				checkRemoveEqual(d, &l, &model)
			default:
				checkWalks(d, &l, model)
			}
			d.head = l.Head
			large = large && len(model) > 0
			if got := d.head.Ref.Encoding() == "quicklist"; got != large || d.head.Count != len(model) {
				d.Fatalf("%d entries, large %v, want %d, %v", d.head.Count, got, len(model), large)
			}
		}, func() []string { return model }
	})
}

// redisSize returns the size of a list as Redis counts it.
func redisSize(model []string) int {
	size := 7
	for _, entry := range model {
		size += redisBytes(Element{text: []byte(entry)})
	}
	return size
}

func checkRemoveEqual(d *driven, l *List, model *[]string) {
	d.Helper()
	b := (*model)[d.r.IntN(len(*model))]
	n := d.r.IntN(7) - 3
	want, left := []string{}, len(*model)
	if n != 0 {
		left = max(n, -n)
	}
	all := slices.Clone(*model)
	if n < 0 {
		slices.Reverse(all)
	}
	for _, x := range all {
		if x == b && left > 0 {
			left--
		} else {
			want = append(want, x)
		}
	}
	if n < 0 {
		slices.Reverse(want)
	}
	if got := l.RemoveEqual([]byte(b), n); got != len(*model)-len(want) {
		d.Fatalf("RemoveEqual(%.50q, %d) = %d, want %d", b, n, got, len(*model)-len(want))
	}
	*model = want
}

// checkWalks compares an entry, and walks from it.
func checkWalks(d *driven, l *List, model []string) {
	d.Helper()
	i := d.r.IntN(len(model))
	if got := text(l.At(i)); got != model[i] {
		d.Fatalf("At(%d) = %.50q, want %.50q", i, got, model[i])
	}
	w, back := l.Walk(i), l.WalkBack(i)
	for n := range 300 {
		e, ok := w.Next()
		if ok != (i+n < len(model)) || ok && text(e) != model[i+n] {
			d.Fatalf("Walk(%d) after %d: %.50q, %v", i, n, text(e), ok)
		}
		e, ok = back.Next()
		if ok != (i-n >= 0) || ok && text(e) != model[i-n] {
			d.Fatalf("WalkBack(%d) after %d: %.50q, %v", i, n, text(e), ok)
		}
	}
}

// TestListEnds expects that lists used as queues neither lose nor waste memory.
func TestListEnds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, out  int // 1: at the end
		minBytes int64
	}{{"in at the end", 1, 0, 0}, {"in at the start", 0, 1, 0}, {"a stack at the end", 1, 1, 0},
		{"a stack at the start", 0, 0, 0}} {
		s := New(testSeed)
		l := s.List(Head{})
		entry := bytes.Repeat([]byte("e"), 20)
		const entries = 1000
		var after int64
		for i := range 20 * entries {
			l.Reserve(len(entry))
			l.Insert(tt.in*l.Count, entry)
			if i >= entries {
				l.Delete(tt.out * (l.Count - 1))
			}
			if i == 2*entries {
				after = s.Bytes()
			}
		}
		if got := s.Bytes(); got > after+3*pageBytes || got > 2*entries*22 {
			t.Errorf("%s: %d bytes, %d before", tt.name, got, after)
		}
	}
}

// TestListMiddle expects that entries added and removed in the middle leave chunks well
// filled.
func TestListMiddle(t *testing.T) {
	s := New(testSeed)
	l := s.List(Head{})
	entry := bytes.Repeat([]byte("e"), 20)
	for i := range 4000 {
		l.Reserve(len(entry))
		l.Insert(l.Count/2+i%2, entry)
	}
	if got := s.Bytes(); got > 3*4000*22 {
		t.Errorf("%d bytes after insertions, want at most three times %d", got, 4000*22)
	}
	for l.Count > 1000 {
		l.Delete(l.Count / 3)
	}
	if got := s.Bytes(); got > 5*1000*22 {
		t.Errorf("%d bytes after deletions, want at most five times %d", got, 1000*22)
	}
}

// TestListFullChunks adds entries between full chunks.
func TestListFullChunks(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := New(testSeed)
		l := s.List(Head{})
		l.Reserve(maxPackedList)
		entry := bytes.Repeat([]byte("e"), 1000)
		want := []string{}
		for range 40 {
			l.Insert(l.Count, entry)
			want = append(want, string(entry))
		}
		_, _, first := chunkSpan(s.view(l.Ref.blob()))
		for i := range 10 {
			at := first
			if !before {
				at += i
			}
			small := []byte{byte('0' + i)}
			l.Insert(at, small)
			want = slices.Insert(want, at, string(small))
		}
		got := dump(s, listKind, l.Head)
		if got = got[:len(got)-1]; !slices.Equal(got, want) {
			t.Errorf("before %v: %.3000q", before, got)
		}
		if most := int64(40*1000+10*2) * 3 / 2; s.Bytes() > most {
			t.Errorf("before %v: %d bytes, want at most %d", before, s.Bytes(), most)
		}
	}
}

// TestListWithoutReserve expects a list to become chunks before its size overflows.
func TestListWithoutReserve(t *testing.T) {
	for _, length := range []int{1, 10, 2000, 70_000} {
		s := New(testSeed)
		l := s.List(Head{})
		for range 40_000 / length * 2 {
			l.Insert(0, bytes.Repeat([]byte("e"), length))
		}
		l.Insert(0, bytes.Repeat([]byte("e"), length))
		if got := l.Ref.Encoding(); got != "quicklist" {
			t.Errorf("entries of %d bytes are in a %s, want a quicklist", length, got)
		}
	}
}

// TestTrimBothEnds trims packed lists at both ends at once.
func TestTrimBothEnds(t *testing.T) {
	const count = 13
	for from := range count {
		for n := 1; n <= count-from; n++ {
			s := New([16]byte{})
			l := s.List(Head{})
			for i := range count {
				l.Insert(i, strconv.AppendInt(nil, int64(i), 10))
			}
			l.Trim(from, n)
			for i := range n {
				if got, want := string(l.At(i).Append(nil)), strconv.Itoa(from+i); got != want || l.Count != n {
					t.Fatalf("%d entries from %d: entry %d of %d is %s, want %s", n, from, i, l.Count, got, want)
				}
			}
		}
	}
}
