package values

import (
	"bytes"
	"slices"
	"testing"
)

func TestHashModel(t *testing.T) {
	drive(t, hashKind, 3000, func(d *driven, texts int) (func(), func() []string) {
		model := map[string]string{}
		var order []string // of fields, while packed
		large := false
		return func() {
				h := d.store.Hash(d.head)
				field := randomText(d.r, texts)
				switch d.r.IntN(8) {
				case 0, 1, 2, 3:
					value := randomText(d.r, 3000)
					_, exists := model[string(field)]
					large = large || len(field) > 64 || len(value) > 64 || !exists && len(model) == 128
					if added := h.Set(field, value); added == exists {
						d.Fatalf("Set(%.50q) = %v, want %v", field, added, !exists)
					}
					if !exists {
						order = append(order, string(field))
					}
					model[string(field)] = string(value)
				case 4, 5:
					_, exists := model[string(field)]
					if got := h.Delete(field); got != exists {
						d.Fatalf("Delete(%.50q) = %v, want %v", field, got, exists)
					}
					delete(model, string(field))
					order = slices.DeleteFunc(order, func(f string) bool { return f == string(field) })
				case 6:
					value, ok := h.Get(field)
					if want, exists := model[string(field)]; ok != exists || ok && !value.Equal([]byte(want)) {
						d.Fatalf("Get(%.50q) = %.50q, %v, want %.50q, %v", field, text(value), ok, want, exists)
					}
				case 7:
					if len(model) > 0 {
						i := d.r.IntN(len(model))
						field, value := h.At(i)
						if model[text(field)] != text(value) {
							d.Fatalf("At(%d) = %.50q, %.50q", i, text(field), text(value))
						}
					}
				}
				d.head = h.Head
				if len(model) == 0 {
					large = false
				}
				if d.head.Count != len(model) || (d.head.Ref == 0) != (len(model) == 0) {
					d.Fatalf("Count = %d, Ref = %x, want %d", d.head.Count, d.head.Ref, len(model))
				}
				if got := d.head.Ref.Encoding() == "hashtable"; got != large {
					d.Fatalf("large is %v, want %v", got, large)
				}
			}, func() (all []string) {
				if large {
					d.byHash(order)
				}
				for _, f := range order {
					all = append(all, f, model[f])
				}
				return all
			}
	})
}

func TestHashEncodings(t *testing.T) {
	s := New(testSeed)
	set := func(h Head, n int, value []byte) Head {
		v := s.Hash(h)
		for i := range n {
			v.Set([]byte{byte(i), 'x'}, value)
		}
		return v.Head
	}
	reserve := func(n int) Head {
		v := s.Hash(Head{})
		v.Reserve(n)
		v.Set([]byte("f"), []byte("v"))
		return v.Head
	}
	packed := set(Head{}, 128, bytes.Repeat([]byte("v"), 64))
	for _, tt := range []struct {
		name string
		head Head
		want string
	}{
		{"128 fields with values of 64 bytes", packed, "listpack"},
		{"129 fields", set(Head{}, 129, []byte("v")), "hashtable"},
		{"a value of 65 bytes", set(Head{}, 1, bytes.Repeat([]byte("v"), 65)), "hashtable"},
		{"room for 128 fields", reserve(128), "listpack"},
		{"room for 129 fields", reserve(129), "hashtable"},
		{"none", Head{}, ""},
	} {
		if got := tt.head.Ref.Encoding(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestHashScan makes scans that add and delete fields, and expects them to visit all other
// fields.
func TestHashScan(t *testing.T) {
	r := testRandom(t)
	s := New(testSeed)
	h := s.Hash(Head{})
	stays := map[string]bool{}
	for i := range 2000 {
		field := []byte{'s', byte(i), byte(i >> 8)}
		h.Set(field, []byte("v"))
		stays[string(field)] = true
	}
	visits := 0
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		w := h.Scan(cursor, 10)
		n := 0
		for field, _, ok := w.Next(); ok; field, _, ok = w.Next() {
			delete(stays, text(field))
			n++
		}
		visits += n
		if cursor = w.Cursor(); cursor != 0 && n != 10 {
			t.Fatalf("a scan visited %d fields, want 10", n)
		}
		for range 5 {
			h.Set([]byte{'t', byte(r.IntN(256))}, []byte("v"))
			h.Delete([]byte{'t', byte(r.IntN(256))})
		}
	}
	if len(stays) > 0 || visits > 3000 {
		t.Errorf("%d fields were not visited, in %d visits", len(stays), visits)
	}
}
