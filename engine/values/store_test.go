package values

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"limitsrv/internal/testing/testwait"
)

var testSeed = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}

// testRandom returns a generator with a seed that it logs.
func testRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A kind is a kind of values to test.
type kind int

const (
	stringKind kind = iota
	hashKind
	listKind
	setKind
	sortedKind
	kinds
)

// dump returns the elements of a value as its walk shows them.
func dump(s *Store, k kind, h Head) (all []string) {
	switch k {
	case stringKind:
		t := s.String(h)
		all = append(all, string(t.Append(nil, 0, t.Count)))
	case hashKind:
		v := s.Hash(h)
		w := v.Walk()
		for field, value, ok := w.Next(); ok; field, value, ok = w.Next() {
			all = append(all, text(field), text(value))
		}
	case listKind:
		v := s.List(h)
		w := v.Walk(0)
		for e, ok := w.Next(); ok; e, ok = w.Next() {
			all = append(all, text(e))
		}
	case setKind:
		v := s.Set(h)
		w := v.Walk()
		for e, ok := w.Next(); ok; e, ok = w.Next() {
			all = append(all, text(e))
		}
	case sortedKind:
		v := s.SortedSet(h)
		w := v.Walk(0)
		for e, score, ok := w.Next(); ok; e, score, ok = w.Next() {
			all = append(all, fmt.Sprint(text(e), " ", score))
		}
	}
	return append(all, h.Ref.Encoding())
}

func text(e Element) string {
	b := e.Append(nil)
	if len(b) != e.Len() {
		panic(fmt.Sprintf("Len() = %d of %q", e.Len(), b))
	}
	return string(b)
}

// randomText returns one of n texts: integers, short texts, and texts at the limits.
func randomText(r *rand.Rand, n int) []byte {
	i := r.IntN(n)
	switch {
	case i%7 == 0:
		return strconv.AppendInt(nil, int64(i)*int64(i)*31-50, 10)
	case i%7 == 1:
		return strconv.AppendInt(nil, 1<<(i%63), 10)
	case i%50 == 2:
		return bytes.Repeat([]byte{byte(i)}, []int{63, 64, 65, 127, 128, 253, 254}[r.IntN(7)])
	case i%211 == 3:
		return bytes.Repeat([]byte{byte(i)}, []int{1023, 1024, 1025, 5000}[r.IntN(4)])
	case i%1999 == 5:
		return bytes.Repeat([]byte{byte(i)}, []int{maxBlob - 1, maxBlob, maxBlob + 1, 3*maxBlob + 5}[r.IntN(4)])
	}
	return fmt.Appendf(nil, "text:%d", i)
}

// A driven value is a value that a model test changes.
type driven struct {
	*testing.T
	r     *rand.Rand
	store *Store
	kind  kind
	head  Head
	model func() []string // that dump must return, without the encoding

	frozen     *Store
	frozenHead Head
	frozenDump []string
}

// byHash sorts texts by their hashes.
func (d *driven) byHash(texts []string) {
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Compare(d.store.key.Sum([]byte(a)), d.store.key.Sum([]byte(b)))
	})
}

// check compares the value with its model.
func (d *driven) check(got, want []string) {
	d.Helper()
	if !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				d.Fatalf("element %d of %d, want %d: got %.80q, want %.80q", i, len(got), len(want),
					got[min(i, len(got)-1):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
			}
		}
	}
}

// maintain sometimes freezes the Store, compares the frozen value, and restores the value
// from a snapshot.
func (d *driven) maintain() {
	d.Helper()
	all := dump(d.store, d.kind, d.head)
	d.check(all[:len(all)-1], d.model())
	switch d.r.IntN(4) {
	case 0:
		if d.frozen == nil {
			d.frozen, d.frozenHead, d.frozenDump = d.store.Freeze(), d.head, all
		}
	case 1:
		if d.frozen != nil {
			d.check(dump(d.frozen, d.kind, d.frozenHead), d.frozenDump)
			if d.frozenHead.Ref != 0 {
				d.check(dump2(d.T, d.frozen, d.kind, d.frozenHead), d.frozenDump)
			}
			d.store.Thaw()
			d.frozen = nil
		}
	case 2:
		if d.head.Ref != 0 {
			d.check(dump2(d.T, d.store, d.kind, d.head), all)
		}
	}
}

// dump2 returns the dump of a value that was written and read.
func dump2(t *testing.T, s *Store, k kind, h Head) []string {
	t.Helper()
	other := New(testSeed)
	restored := copyValue(t, s, h, other, 500)
	if restored.Count != h.Count {
		t.Fatalf("restored Count is %d, want %d", restored.Count, h.Count)
	}
	all := dump(other, k, restored)
	other.Free(restored)
	for other.Collect(1000) {
	}
	if other.Bytes() != 0 {
		t.Fatalf("%d bytes are used after all was freed, want 0", other.Bytes())
	}
	return all
}

// copyValue restores a value from its parts.
func copyValue(t *testing.T, s *Store, h Head, to *Store, size int) (restored Head) {
	t.Helper()
	for from, more := uint64(0), true; more; {
		var part []byte
		part, from = s.Append(nil, h, from, size)
		var (
			rest []byte
			err  error
		)
		restored, rest, more, err = to.Parse(restored, append(part, "rest"...))
		if err != nil || string(rest) != "rest" || more != (from != 0) {
			t.Fatalf("Parse: %v, rest %.20q, more %v, next %d", err, rest, more, from)
		}
	}
	return restored
}

// finish frees the value and expects an empty Store.
func (d *driven) finish() {
	d.Helper()
	if d.frozen != nil {
		d.store.Thaw()
	}
	d.store.Free(d.head)
	for d.store.Collect(1000) {
	}
	if d.store.Bytes() != 0 {
		d.Fatalf("%d bytes are used after all was freed, want 0", d.store.Bytes())
	}
}

// drive runs a model test: rounds of steps on values with texts of several numbers.
func drive(t *testing.T, k kind, steps int, begin func(d *driven, texts int) (step func(), model func() []string)) {
	r := testRandom(t)
	for round := range 12 {
		texts := []int{8, 40, 150, 700, 3000}[round%5]
		d := &driven{T: t, r: r, store: New(testSeed), kind: k}
		step, model := begin(d, texts)
		d.model = model
		for i := range steps {
			step()
			if i%97 == 0 {
				d.maintain()
			}
		}
		d.maintain()
		d.finish()
	}
}
