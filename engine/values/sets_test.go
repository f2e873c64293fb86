package values

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"testing"

	"limitsrv/engine/values/numbers"
)

func TestSetModel(t *testing.T) {
	drive(t, setKind, 3000, func(d *driven, texts int) (func(), func() []string) {
		var (
			order    []string // of members, by insertion
			encoding = ""
			onlyInts = true // most of the time
		)
		isInt := func(m string) bool { _, ok := numbers.ParseInt([]byte(m)); return ok }
		sorted := func() {
			slices.SortFunc(order, func(a, b string) int {
				x, _ := strconv.ParseInt(a, 10, 64)
				y, _ := strconv.ParseInt(b, 10, 64)
				return cmp.Compare(x, y)
			})
		}
		return func() {
				v := d.store.Set(d.head)
				member := randomText(d.r, texts)
				if onlyInts && d.r.IntN(1000) > 0 {
					member = strconv.AppendInt(nil, int64(d.r.IntN(2*texts)-texts)<<d.r.IntN(40), 10)
				}
				exists := slices.Contains(order, string(member))
				switch d.r.IntN(8) {
				case 0, 1, 2, 3:
					switch {
					case encoding == "" && isInt(string(member)):
						encoding = "intset"
					case encoding == "" && len(member) <= 64:
						encoding = "listpack"
					case encoding == "":
						encoding = "hashtable"
					case encoding == "intset" && !isInt(string(member)):
						sorted()
						encoding = "hashtable"
						if len(order) < 128 && len(member) <= 64 {
							encoding = "listpack"
						}
					case encoding == "intset" && !exists && len(order) == 512:
						encoding = "hashtable"
					case encoding == "listpack" && (len(member) > 64 || !exists && len(order) == 128):
						encoding = "hashtable"
					}
					if added := v.Add(member); added == exists {
						d.Fatalf("Add(%.50q) = %v, want %v", member, added, !exists)
					}
					if !exists {
						order = append(order, string(member))
					}
				case 4, 5:
					if d.r.IntN(3) == 0 && len(order) > 0 {
						member = []byte(order[d.r.IntN(len(order))])
						exists = true
					}
					if got := v.Remove(member); got != exists {
						d.Fatalf("Remove(%.50q) = %v, want %v", member, got, exists)
					}
					order = slices.DeleteFunc(order, func(m string) bool { return m == string(member) })
				case 6:
					if got := v.Contains(member); got != exists {
						d.Fatalf("Contains(%.50q) = %v, want %v", member, got, exists)
					}
				case 7:
					if len(order) > 0 {
						if e := v.At(d.r.IntN(len(order))); !slices.Contains(order, text(e)) {
							d.Fatalf("At = %.50q, which is missing", text(e))
						}
					}
				}
				if len(order) == 0 {
					encoding = ""
					onlyInts = d.r.IntN(3) > 0
				}
				d.head = v.Head
				if got := d.head.Ref.Encoding(); got != encoding || d.head.Count != len(order) {
					d.Fatalf("%d members in a %s, want %d in a %s", d.head.Count, got, len(order), encoding)
				}
			}, func() []string {
				switch encoding {
				case "intset":
					sorted()
				case "hashtable":
					d.byHash(order)
				}
				return order
			}
	})
}

func TestSetReserve(t *testing.T) {
	for _, tt := range []struct {
		name    string
		members int
		first   string
		want    string
	}{
		{"512 integers", 512, "1", "intset"},
		{"513 integers", 513, "1", "hashtable"},
		{"128 texts", 128, "a", "listpack"},
		{"129 texts", 129, "a", "hashtable"},
		{"a long text", 1, string(bytes.Repeat([]byte("a"), 65)), "hashtable"},
	} {
		s := New(testSeed)
		v := s.Set(Head{})
		v.Reserve(tt.members, []byte(tt.first))
		v.Add([]byte(tt.first))
		if got := v.Ref.Encoding(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
