package slab

import (
	"bytes"
	"testing"
)

func TestSlices(t *testing.T) {
	var s Slices[int]
	var all [][]int
	for i := range 3 * length {
		part := s.Make(i)
		if len(part) != i || cap(part) != i {
			t.Fatalf("Make(%d) has length %d, capacity %d", i, len(part), cap(part))
		}
		for j := range part {
			if part[j] != 0 {
				t.Fatalf("Make(%d)[%d] = %d, want 0", i, j, part[j])
			}
			part[j] = i
		}
		all = append(all, part)
	}
	for i, part := range all {
		for j := range part {
			if part[j] != i {
				t.Fatalf("element %d of slice %d is %d: it is shared", j, i, part[j])
			}
		}
	}
}

func TestTexts(t *testing.T) {
	var (
		s    Texts
		want [][]byte
		got  []string
	)
	for i := range 200 {
		text := bytes.Repeat([]byte{byte(i)}, i*i%(textBytes+100))
		want, got = append(want, bytes.Clone(text)), append(got, s.Make(text))
		clear(text)
	}
	for i := range want {
		if got[i] != string(want[i]) {
			t.Fatalf("text %d is not as it was made", i)
		}
	}
}

func TestFewAllocations(t *testing.T) {
	var (
		s    Slices[*int]
		text Texts
	)
	if n := testing.AllocsPerRun(100, func() {
		for range length {
			s.Make(1)
			text.Make([]byte("123456789"))
		}
	}); n > 2 {
		t.Errorf("%v allocations for %d slices and strings, want at most 2", n, length)
	}
}
