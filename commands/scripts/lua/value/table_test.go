package value

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

const plenty = 1 << 30

func newHeap() *Heap {
	h := &Heap{}
	h.Reset(plenty, plenty)
	return h
}

// randomKey returns one of few keys, with a text that names it.
func randomKey(r *rand.Rand, h *Heap) (Value, string) {
	switch r.IntN(4) {
	case 0:
		i := r.IntN(40) - 5
		return Number(float64(i)), fmt.Sprint(i)
	case 1:
		x := float64(r.IntN(20)) / 4
		return Number(x), fmt.Sprint(x)
	case 2:
		return Bool(r.IntN(2) == 0), ""
	}
	text := fmt.Sprintf("key%d", r.IntN(60))
	return OfString(h.CopyString(text)), text
}

// TestTableIsAMap compares a table with a map through random changes.
func TestTableIsAMap(t *testing.T) {
	for seed := range uint64(200) {
		r, h := rand.New(rand.NewPCG(seed, 1)), newHeap()
		table, model := h.NewTable(r.IntN(5), r.IntN(5)), map[string]float64{}
		for step := range 300 {
			key, name := randomKey(r, h)
			if key.Kind() == BooleanKind {
				name = fmt.Sprint(key.Truth())
			}
			switch r.IntN(3) {
			case 0:
				table.Set(h, key, Nil)
				delete(model, name)
			default:
				table.Set(h, key, Number(float64(step)))
				model[name] = float64(step)
			}
			want, present := model[name]
			if got := table.Get(key); got.IsNil() == present || present && got.Float() != want {
				t.Fatalf("seed %d, step %d: %s = %v, want %v", seed, step, name, got, want)
			}
			checkBorder(t, table)
		}
		seen := 0
		for cursor := 0; ; seen++ {
			var key Value
			if key, _, cursor = table.Next(cursor); key.IsNil() {
				break
			}
			if again, ok := table.Cursor(key, 0); !ok || again != cursor {
				t.Fatalf("seed %d: the cursor behind a key is %d, want %d", seed, again, cursor)
			}
		}
		if seen != len(model) {
			t.Fatalf("seed %d: Next visits %d entries, want %d", seed, seen, len(model))
		}
	}
}

// checkBorder checks the property of Len.
func checkBorder(t *testing.T, table *Table) {
	t.Helper()
	n := table.Len()
	if n > 0 && table.GetInt(n).IsNil() || !table.GetInt(n+1).IsNil() {
		t.Fatalf("Len = %d is no border", n)
	}
}

func TestTableKeepsMemory(t *testing.T) {
	h := newHeap()
	use := func() {
		table := h.NewTable(0, 0)
		for i := range 100 {
			table.SetInt(h, i+1, Number(1))
			table.Set(h, Number(float64(i)+0.5), True)
		}
		h.Reset(plenty, plenty)
	}
	use()
	if n := testing.AllocsPerRun(20, use); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestElements compares the elements of lists, with and without a nil, with those by key.
func TestElements(t *testing.T) {
	h := newHeap()
	for room := range 5 {
		for missing := range room + 1 {
			table := h.NewTable(room, 0)
			for i := range room {
				if i != missing {
					table.SetInt(h, i+1, Number(float64(i)))
				}
			}
			elements := table.Elements()
			for i := range elements {
				if !Equal(elements[i], table.GetInt(i+1)) {
					t.Errorf("element %d of %d is %v", i+1, room, elements[i])
				}
			}
			if len(elements) != missing {
				t.Errorf("%d elements before the nil of a list of %d, want %d", len(elements), room, missing)
			}
		}
	}
}

func TestHeapLimit(t *testing.T) {
	h := &Heap{}
	h.Reset(1000, plenty)
	h.CopyString("some text")
	if used := h.Used(); used != stringSize+9 {
		t.Errorf("%d bytes are used, want %d", used, stringSize+9)
	}
	defer func() {
		if _, ok := recover().(OutOfMemory); !ok {
			t.Error("no panic beyond the limit")
		}
	}()
	h.Room(1000)
}

func TestValueSize(t *testing.T) {
	if size := unsafe.Sizeof(Value{}); size != slotSize {
		t.Errorf("a value has %d bytes, want %d", size, slotSize)
	}
}

func TestEqual(t *testing.T) {
	h := newHeap()
	table := OfTable(h.NewTable(0, 0))
	different := []Value{Nil, True, False, Null, Number(0), Number(1), OfString(NewString("")), OfString(NewString("1")),
		table, OfTable(h.NewTable(0, 0))}
	for i, a := range different {
		for j, b := range different {
			if Equal(a, b) != (i == j) {
				t.Errorf("Equal(%d, %d) = %v", i, j, i != j)
			}
		}
		if want := i != 0 && i != 2; a.Truth() != want {
			t.Errorf("Truth of %d = %v, want %v", i, !want, want)
		}
	}
	if Equal(Number(math.NaN()), Number(math.NaN())) || !Equal(Number(0), Number(math.Copysign(0, -1))) {
		t.Error("Equal differs from IEEE 754")
	}
	if !Equal(OfString(NewString("abc")), OfString(h.CopyString("abc"))) {
		t.Error("two strings of the same bytes differ")
	}
}
