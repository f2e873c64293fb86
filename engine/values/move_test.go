package values

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMove makes the same changes to a value in a Store and to a value that moves between other
// Stores, freezes Stores now and then, and expects the same elements. A frozen Store shows the same
// elements as before the value moved, and no memory is left at the end.
func TestMove(t *testing.T) {
	r := testRandom(t)
	for k := range kinds {
		var (
			seed        = r.Uint64()
			plain       = New(testSeed)
			two         = [2]*Store{New(testSeed), New(testSeed)}
			same, again = rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
			a, b        Head
			at          int
			frozen      *Store
			shown       []byte
			head        Head
			of          int // the number of the frozen Store
		)
		for i := range 6000 {
			a, b = change(plain, k, a, same), change(two[at], k, b, again)
			if r.IntN(40) > 0 {
				continue
			}
			switch {
			case frozen == nil && r.IntN(3) == 0:
				frozen, head, of = two[at].Freeze(), b, at
				if shown = nil; b.Ref != 0 {
					shown, _ = frozen.Append(nil, head, 0, 1<<30)
				}
			case frozen != nil && r.IntN(6) == 0:
				two[of].Thaw()
				frozen = nil
			}
			b = two[1-at].Move(two[at], b)
			at = 1 - at
			if got, want := dump(two[at], k, b), dump(plain, k, a); !slices.Equal(got, want) {
				t.Fatalf("kind %d after %d changes: %.200q, want %.200q", k, i, got, want)
			}
			if frozen != nil && shown != nil {
				if got, _ := frozen.Append(nil, head, 0, 1<<30); !bytes.Equal(got, shown) {
					t.Fatalf("kind %d after %d changes: the frozen Store has changed", k, i)
				}
			}
		}
		if frozen != nil {
			two[of].Thaw()
		}
		two[at].Free(b)
		for _, s := range two {
			for s.Collect(1000) {
			}
			if s.UsedBytes() != 0 || s.pages != 0 {
				t.Errorf("kind %d: %d bytes in %d pages are left", k, s.UsedBytes(), s.pages)
			}
		}
	}
}

// TestMoveEachForm moves a value of each form, and of long elements.
func TestMoveEachForm(t *testing.T) {
	s, other := New(testSeed), New(testSeed)
	heads, kindsOf := samples(s)
	l, h := s.List(Head{}), s.Hash(Head{})
	for i := range 40 {
		text := bytes.Repeat([]byte{byte(i)}, 10+i*i*30)
		l.Reserve(len(text))
		l.Insert(l.Count, text)
		h.Set(text, text)
	}
	for i, head := range append(heads, l.Head, h.Head) {
		k := listKind
		switch {
		case i < len(heads):
			k = kindsOf[i]
		case i > len(heads):
			k = hashKind
		}
		want, usage := dump(s, k, head), s.Usage(head)
		moved := other.Move(s, head)
		if got := dump(other, k, moved); !slices.Equal(got, want) || moved.Ref.Encoding() != head.Ref.Encoding() {
			t.Errorf("value %d: %.100q, want %.100q", i, got, want)
		}
		if got := other.Usage(moved); got != usage {
			t.Errorf("value %d has %d bytes, want %d", i, got, usage)
		}
	}
	if s.UsedBytes() != 0 {
		t.Errorf("%d bytes are left", s.UsedBytes())
	}
}

// TestMoveOfLongTexts moves texts beyond a page of slots with their pages, and texts of members
// of sorted sets once for both trees.
func TestMoveOfLongTexts(t *testing.T) {
	s, other := New(testSeed), New(testSeed)
	text := bytes.Repeat([]byte("x"), 1<<20)
	z := s.SortedSet(Head{})
	for i := range 5 {
		text[0] = byte(i)
		z.Add(text, float64(i), 0)
	}
	used := s.UsedBytes()
	buf := &s.piece(s.memory.longBlob(&z), len(text), 0)[0]
	h := other.Move(s, z.Head)
	moved := other.SortedSet(h)
	if &other.piece(other.memory.longBlob(&moved), len(text), 0)[0] != buf {
		t.Error("a text of 1 MB was copied")
	}
	if s.UsedBytes() != 0 || other.UsedBytes() != used {
		t.Errorf("%d bytes are left of %d, %d are there", s.UsedBytes(), used, other.UsedBytes())
	}
	for i := range 5 {
		text[0] = byte(i)
		if score, ok := moved.Score(text); !ok || score != float64(i) {
			t.Errorf("member %d: %v, %v", i, score, ok)
		}
	}
	other.Free(h)
	for other.Collect(100) {
	}
	if other.UsedBytes() != 0 {
		t.Errorf("%d bytes are left after Free", other.UsedBytes())
	}
}

// longBlob returns the text of the first member of a sorted set.
func (m *memory) longBlob(z *SortedSet) blobRef {
	e, _ := z.At(0)
	return e.blob
}
