package values

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
)

type scored struct {
	member string
	score  float64
}

func compareScored(a, b scored) int {
	return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.member, b.member))
}

// A sortedModel is a sorted set as a sorted slice.
type sortedModel struct {
	all   []scored
	large bool
}

func (m *sortedModel) index(member string) int {
	return slices.IndexFunc(m.all, func(x scored) bool { return x.member == member })
}

func (m *sortedModel) remove(i, j int) {
	m.all = slices.Delete(m.all, i, j)
	m.large = m.large && len(m.all) > 0
}

func (m *sortedModel) put(x scored) {
	if i := m.index(x.member); i >= 0 {
		m.all = slices.Delete(m.all, i, i+1)
	} else {
		m.large = m.large || len(m.all) == 128 || len(x.member) > 64
	}
	i, _ := slices.BinarySearchFunc(m.all, x, compareScored)
	m.all = slices.Insert(m.all, i, x)
}

// add does the same as SortedSet.Add.
func (m *sortedModel) add(member string, score float64, flags AddFlags) (Added, float64) {
	i := m.index(member)
	if i < 0 {
		if flags&OnlyOld != 0 {
			return Prevented, 0
		}
		m.put(scored{member, score})
		return Created, score
	}
	old := m.all[i].score
	if flags&OnlyNew != 0 {
		return Prevented, 0
	}
	if flags&Increment != 0 {
		score += old
	}
	switch {
	case math.IsNaN(score):
		return NotANumber, 0
	case flags&OnlyGreater != 0 && score <= old, flags&OnlyLess != 0 && score >= old:
		return Prevented, 0
	case score == old:
		return Same, score
	}
	m.put(scored{member, score})
	return Updated, score
}

func TestSortedSetModel(t *testing.T) {
	scores := []float64{0, 1, -1, 1.5, 1699999999123, 1699999999.123, 1e300, -1e-300, math.Inf(1), math.Inf(-1), 1 << 53,
		1<<53 - 1, -(1 << 53)}
	allFlags := []AddFlags{0, 0, 0, OnlyNew, OnlyOld, OnlyGreater, OnlyLess, Increment, Increment | OnlyGreater,
		OnlyOld | OnlyLess, Increment | OnlyNew}
	drive(t, sortedKind, 3000, func(d *driven, texts int) (func(), func() []string) {
		m := &sortedModel{}
		return func() {
				z := d.store.SortedSet(d.head)
				member := randomText(d.r, texts)
				score := float64(d.r.IntN(20))
				if d.r.IntN(4) == 0 {
					score = scores[d.r.IntN(len(scores))]
				}
				i := m.index(string(member))
				switch d.r.IntN(11) {
				case 0, 1, 2, 3, 4:
					flags := allFlags[d.r.IntN(len(allFlags))]
					got, sum := z.Add(member, score, flags)
					want, wantSum := m.add(string(member), score, flags)
					if got != want || sum != wantSum {
						d.Fatalf("Add(%.50q, %v, %d) = %v, %v, want %v, %v", member, score, flags, got, sum, want, wantSum)
					}
				case 5, 6:
					if got := z.Remove(member); got != (i >= 0) {
						d.Fatalf("Remove(%.50q) = %v, want %v", member, got, i >= 0)
					}
					if i >= 0 {
						m.remove(i, i+1)
					}
				case 7:
					rank, ok := z.Rank(member)
					got, _ := z.Score(member)
					if ok != (i >= 0) || ok && (rank != i || got != m.all[i].score) {
						d.Fatalf("Rank(%.50q) = %d, %v, score %v, want %d", member, rank, ok, got, i)
					}
				case 8:
					checkRanges(d, &z, m, score)
				case 9:
					if n := len(m.all); n > 0 && d.r.IntN(8) == 0 {
						from := d.r.IntN(n)
						to := from + d.r.IntN(n-from+1)
						z.RemoveRange(from, to-from)
						m.remove(from, to)
					}
				case 10:
					checkDown(d, &z, m)
				}
				d.head = z.Head
				if got := d.head.Ref.Encoding() == "skiplist"; got != m.large || d.head.Count != len(m.all) ||
					(d.head.Ref == 0) != (len(m.all) == 0) {
					d.Fatalf("large is %v with %d members, want %v with %d", got, d.head.Count, m.large, len(m.all))
				}
			}, func() (all []string) {
				for _, x := range m.all {
					all = append(all, fmt.Sprint(x.member, " ", x.score))
				}
				return all
			}
	})
}

// checkRanges compares the ranks of a score and an element.
func checkRanges(d *driven, z *SortedSet, m *sortedModel, score float64) {
	d.Helper()
	below := slices.IndexFunc(m.all, func(x scored) bool { return x.score >= score })
	upTo := slices.IndexFunc(m.all, func(x scored) bool { return x.score > score })
	if below < 0 {
		below = len(m.all)
	}
	if upTo < 0 {
		upTo = len(m.all)
	}
	if z.Below(score) != below || z.UpTo(score) != upTo {
		d.Fatalf("Below(%v), UpTo = %d, %d, want %d, %d", score, z.Below(score), z.UpTo(score), below, upTo)
	}
	if below < len(m.all) {
		e, got := z.At(below)
		if text(e) != m.all[below].member || got != m.all[below].score {
			d.Fatalf("At(%d) = %.50q, %v, want %.50q", below, text(e), got, m.all[below].member)
		}
	}
}

// checkDown compares a walk downwards.
func checkDown(d *driven, z *SortedSet, m *sortedModel) {
	d.Helper()
	if len(m.all) == 0 {
		return
	}
	i := d.r.IntN(len(m.all))
	w := z.WalkDown(i)
	for n := 0; n < 50 || len(m.all) < 200; n++ {
		e, score, ok := w.Next()
		if ok != (i >= 0) {
			d.Fatalf("WalkDown: %v at %d", ok, i)
		}
		if !ok {
			return
		}
		if text(e) != m.all[i].member || score != m.all[i].score {
			d.Fatalf("WalkDown at %d: %.50q, %v, want %.50q", i, text(e), score, m.all[i].member)
		}
		i--
	}
}

func TestSortedSetMembers(t *testing.T) {
	for _, n := range []int{0, 1, 100, 1000} {
		s := New(testSeed)
		z := s.SortedSet(Head{})
		for i := range n {
			z.Add(fmt.Appendf(nil, "%04d", 2*i), 7, 0)
		}
		for i := range n {
			odd, even := fmt.Appendf(nil, "%04d", 2*i+1), fmt.Appendf(nil, "%04d", 2*i)
			if z.Before(odd) != i+1 || z.Through(odd) != i+1 || z.Before(even) != i || z.Through(even) != i+1 {
				t.Fatalf("of %d: Before, Through = %d, %d, %d, %d at %d", n, z.Before(odd), z.Through(odd), z.Before(even),
					z.Through(even), i)
			}
		}
	}
}

func TestSortedSetScan(t *testing.T) {
	for _, n := range []int{100, 1000} {
		s := New(testSeed)
		z := s.SortedSet(Head{})
		for i := range n {
			z.Add(fmt.Appendf(nil, "%d", i), float64(i), 0)
		}
		seen := map[string]bool{}
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			c := z.Scan(cursor, 7)
			for e, score, ok := c.Next(); ok; e, score, ok = c.Next() {
				if text(e) != fmt.Sprint(score) || seen[text(e)] {
					t.Fatalf("Scan: %s, %v", text(e), score)
				}
				seen[text(e)] = true
			}
			cursor = c.Cursor()
		}
		if len(seen) != n {
			t.Errorf("%d members were visited, want %d", len(seen), n)
		}
	}
}

func TestSortedSetReserve(t *testing.T) {
	for _, tt := range []struct {
		before, members, longest int
		want                     string
	}{
		{0, 128, 64, "listpack"}, {0, 129, 1, "skiplist"}, {0, 1, 65, "skiplist"},
		{1, 128, 64, "listpack"}, {1, 129, 1, "skiplist"}, {1, 1, 65, "listpack"},
	} {
		s := New(testSeed)
		z := s.SortedSet(Head{})
		for range tt.before {
			z.Add([]byte("first"), 1, 0)
		}
		z.Reserve(tt.members, tt.longest)
		z.Add([]byte("m"), 1, 0)
		if got := z.Ref.Encoding(); got != tt.want {
			t.Errorf("Reserve(%d, %d) after %d: %s, want %s", tt.members, tt.longest, tt.before, got, tt.want)
		}
	}
	z := New(testSeed).SortedSet(Head{})
	if got, _ := z.Add([]byte("m"), math.NaN(), 0); got != NotANumber || z.Count != 0 {
		t.Errorf("Add(NaN) = %v, want %v", got, NotANumber)
	}
	z.Add(bytes.Repeat([]byte("m"), 65), 1, 0)
	if got := z.Ref.Encoding(); got != "skiplist" {
		t.Errorf("a member of 65 bytes: %s, want skiplist", got)
	}
}
