package values

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// samples returns a value of each form.
func samples(s *Store) (heads []Head, kindsOf []kind) {
	add := func(k kind, h Head) { heads, kindsOf = append(heads, h), append(kindsOf, k) }
	for _, b := range []string{"", "v", strings.Repeat("large", 20_000)} {
		v := s.String(Head{})
		v.Set([]byte(b))
		add(stringKind, v.Head)
	}
	v := s.String(Head{})
	v.Write(3, []byte("123"))
	add(stringKind, v.Head)
	for _, n := range []int{3, 300} {
		h, l, ints, set, z := s.Hash(Head{}), s.List(Head{}), s.Set(Head{}), s.Set(Head{}), s.SortedSet(Head{})
		for i := range n {
			member := fmt.Appendf(nil, "member:%d", i)
			h.Set(member, fmt.Append(nil, i*i))
			l.Reserve(40)
			l.Insert(l.Count, bytes.Repeat(fmt.Append(nil, i), 10))
			ints.Add(fmt.Append(nil, i*2-5))
			set.Add(member)
			z.Add(member, float64(i)/4, 0)
		}
		add(hashKind, h.Head)
		add(listKind, l.Head)
		add(setKind, ints.Head)
		add(setKind, set.Head)
		add(sortedKind, z.Head)
	}
	h := s.Hash(Head{})
	h.Set([]byte("field"), bytes.Repeat([]byte("long"), 1000))
	add(hashKind, h.Head)
	return heads, kindsOf
}

// TestRestored expects of a value restored from parts of any size that it is the same.
func TestRestored(t *testing.T) {
	s := New(testSeed)
	heads, kindsOf := samples(s)
	forms := map[form]bool{}
	for i, h := range heads {
		forms[h.Ref.form()] = true
		for _, size := range []int{1, 100, 8 << 10, 1 << 20} {
			other := New(testSeed)
			restored := copyValue(t, s, h, other, size)
			if got, want := dump(other, kindsOf[i], restored), dump(s, kindsOf[i], h); !slices.Equal(got, want) {
				t.Errorf("value %d in parts of %d: %.100q, want %.100q", i, size, got, want)
			}
		}
	}
	if len(forms) != int(formsEnd)-1 {
		t.Errorf("the samples have %d forms, want %d", len(forms), formsEnd-1)
	}
}

// TestFormat pins the format of snapshots.
func TestFormat(t *testing.T) {
	s := New(testSeed)
	h, z, l := s.Hash(Head{}), s.SortedSet(Head{}), s.List(Head{})
	h.Set([]byte("f"), []byte("12345"))
	z.Add([]byte("m"), 1.5, 0)
	z.Add([]byte("n"), -2, 0)
	l.Insert(0, bytes.Repeat([]byte("x"), 130))
	for _, tt := range []struct{ name, got, want string }{
		{"hash", part(s, h.Head), "\x03\x01\x00\x00\x00\x01f\xc2\x39\x30"},
		{"sorted set", part(s, z.Head), "\x0a\x02\x00\x00\x00\x01\xfe\x01n\x08\x00\x00\x00\x00\x00\x00\xf8\x3f\x01m"},
		{"list", part(s, l.Head), "\x05\x01\x00\x00\x00\x80\x82" + strings.Repeat("x", 130)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func part(s *Store, h Head) string {
	b, _ := s.Append(nil, h, 0, 1<<20)
	return string(b)
}

func TestDamaged(t *testing.T) {
	packedHash := func(pairs ...string) string {
		b := []byte{byte(hashPacked), 0, 0, 0, 0}
		binary.LittleEndian.PutUint32(b[1:], uint32(len(pairs)/2))
		for _, x := range pairs {
			b = append(b, x...)
		}
		return string(b)
	}
	long := "\xd0\x01\x04\x00\x00" + strings.Repeat("x", 1025)
	for _, tt := range []struct {
		name, part string
		ok         bool
	}{
		{"a hash", packedHash("\x01a", "\x01b", "\x01c", "\xc1\x0c"), true},
		{"no bytes", "", false},
		{"no form", "\x00\x01\x00\x00\x00a", false},
		{"an unknown form", "\x0c\x01\x00\x00\x00a", false},
		{"no elements", packedHash(), false},
		{"more elements than bytes", "\x07\xff\xff\xff\xff\x01a", false},
		{"parts of a packed hash", "\x83" + packedHash("\x01a", "\x01b")[1:], false},
		{"a field twice", packedHash("\x01a", "\x01b", "\x01a", "\x01b"), false},
		{"a cut text", packedHash("\x01a", "\x02b"), false},
		{"an integer as a text", packedHash("\x01a", "\x0212"), false},
		{"an integer with too many bytes", packedHash("\x01a", "\xc2\x0c\x00"), false},
		{"an integer that is a shorter text", packedHash("\x01a", "\xc1\x01"), false},
		{"an integer without bytes", packedHash("\x01a", "\xc0"), false},
		{"a short text with two bytes of length", packedHash("\x01a", "\x80\x01b"), false},
		{"a long text in a packed hash", packedHash("\x01a", long), false},
		{"a text of 65 bytes in a packed hash", packedHash("\x01a", "\x41"+strings.Repeat("x", 65)), false},
		{"an unknown tag", packedHash("\x01a", "\xff"), false},
		{"a long text in a hash", "\x04\x01\x00\x00\x00\x01a" + long, true},
		{"a text of 1024 bytes as a long one", "\x04\x01\x00\x00\x00\x01a\xd0\x00\x04\x00\x00" + long[5:], false},
		{"a cut long text", "\x04\x01\x00\x00\x00\x01a" + long[:len(long)-1], false},
		{"integers", "\x07\x02\x00\x00\x00\x011\x012", true},
		{"integers in descending order", "\x07\x02\x00\x00\x00\x012\x011", false},
		{"texts among integers", "\x07\x01\x00\x00\x00\x01a", false},
		{"a sorted set", "\x0a\x02\x00\x00\x00\x01\x01\x01a\x01\x01\x01b", true},
		{"members in descending order", "\x0a\x02\x00\x00\x00\x01\x01\x01b\x01\x01\x01a", false},
		{"scores in descending order", "\x0a\x02\x00\x00\x00\x01\x02\x01a\x01\x01\x01b", false},
		{"a member twice", "\x0a\x02\x00\x00\x00\x01\x01\x01a\x01\x02\x01a", false},
		{"a score that is no number", "\x0b\x01\x00\x00\x00\x08\x01\x00\x00\x00\x00\x00\xf8\x7f\x01a", false},
		{"a double that is an integer", "\x0b\x01\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\xf0\x3f\x01a", false},
		{"a list", "\x05\x02\x00\x00\x00\x01a\x01a", true},
		{"a string without bytes in parts", "\x81\x00\x00\x00\x00", false},
	} {
		s := New(testSeed)
		h, _, _, err := s.Parse(Head{}, []byte(tt.part))
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		s.Free(h)
		if s.Bytes() != 0 {
			t.Errorf("%s: %d bytes are used", tt.name, s.Bytes())
		}
	}
}

// FuzzParse expects of any parts that they are refused, or restore a value that is written
// as the same bytes.
func FuzzParse(f *testing.F) {
	s := New(testSeed)
	heads, _ := samples(s)
	for _, h := range heads {
		b, next := s.Append(nil, h, 0, 2000)
		if next != 0 {
			b, _ = s.Append(b, h, next, 2000)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(testSeed)
		h, rest, more, err := s.Parse(Head{}, b)
		for err == nil && more {
			h, rest, more, err = s.Parse(h, rest)
		}
		if s.Bytes() > int64(64*len(b)+10*pageBytes) {
			t.Fatalf("%d bytes of memory for %d bytes", s.Bytes(), len(b))
		}
		if err == nil {
			if len(h.Ref.Encoding()) == 0 {
				t.Fatalf("Parse of %q gave no form", b)
			}
			first, _ := s.Append(nil, h, 0, 1<<30)
			other := New(testSeed)
			again, _, _, err := other.Parse(Head{}, first)
			if second, _ := other.Append(nil, again, 0, 1<<30); err != nil || !bytes.Equal(first, second) {
				t.Fatalf("%q, %v, want %q", second, err, first)
			}
		}
		s.Free(h)
		for s.Collect(1000) {
		}
		if s.Bytes() != 0 {
			t.Fatalf("%d bytes are used after all was freed", s.Bytes())
		}
	})
}

// TestFirstChanges expects of first changes to large values after a freeze that they copy
// a few pages only.
func TestFirstChanges(t *testing.T) {
	s := New(testSeed)
	h, z, l, v := s.Hash(Head{}), s.SortedSet(Head{}), s.List(Head{}), s.String(Head{})
	v.Write(1<<24, []byte("end"))
	for i := range 100_000 {
		member := fmt.Append(nil, "member:", i)
		h.Set(member, member)
		z.Add(member, float64(i), 0)
		l.Reserve(len(member))
		l.Insert(l.Count, member)
	}
	for _, tt := range []struct {
		name string
		most int64 // bytes
		do   func()
	}{
		{"hash", 6 * pageBytes, func() { h.Set([]byte("member:50000"), []byte("another value")) }},
		{"sorted set", 20 * pageBytes, func() { z.Add([]byte("member:50000"), 7.5, 0) }},
		{"list", 4 * pageBytes, func() { l.Insert(50_000, []byte("member")) }},
		{"string", maxBlob + 2*pageBytes, func() { v.Write(1<<23, []byte("middle")) }},
	} {
		s.Freeze()
		tt.do()
		if got := s.CopiedBytes(); got == 0 || got > tt.most {
			t.Errorf("%s: %d bytes were copied, want at most %d", tt.name, got, tt.most)
		}
		s.Thaw()
	}
}

// TestFrozenWhileChanging reads a frozen Store while its origin changes.
func TestFrozenWhileChanging(t *testing.T) {
	r := testRandom(t)
	s := New(testSeed)
	heads, kindsOf := samples(s)
	want := make([][]string, len(heads))
	for i, h := range heads {
		want[i] = dump(s, kindsOf[i], h)
	}
	frozenHeads := slices.Clone(heads)
	frozen := s.Freeze()
	var reading sync.WaitGroup
	reading.Go(func() {
		for range 20 {
			for i, h := range frozenHeads {
				if got := dump(frozen, kindsOf[i], h); !slices.Equal(got, want[i]) {
					t.Errorf("value %d changed: %.100q, want %.100q", i, got, want[i])
					return
				}
			}
			runtime.Gosched()
		}
	})
	for range 20_000 {
		i := r.IntN(len(heads))
		heads[i] = change(s, kindsOf[i], heads[i], r)
	}
	reading.Wait()
	if s.CopiedBytes() == 0 {
		t.Error("CopiedBytes = 0 with a frozen Store")
	}
	s.Thaw()
	if s.CopiedBytes() != 0 {
		t.Errorf("CopiedBytes = %d after Thaw, want 0", s.CopiedBytes())
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
