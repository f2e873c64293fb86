package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fillText returns the i-th of some different texts: a number, a word, or a long text.
func fillText(i int) []byte {
	switch i % 50 {
	case 1:
		return fmt.Appendf(nil, "%d%s", i, strings.Repeat("x", 3*maxLeafText))
	case 2, 3, 4:
		return fmt.Append(nil, i)
	}
	return fmt.Appendf(nil, "member:%d", i)
}

// expectSame expects two values with the same elements, form and change.
func expectSame(t *testing.T, s *Store, got Head, other *Store, want Head, check func(h Head)) {
	t.Helper()
	k := got.Ref.Kind()
	if k != want.Ref.Kind() || got.Ref.form() != want.Ref.form() || got.Count != want.Count || got.Change != want.Change {
		t.Fatalf("form %d, %d elements, change %d; want %d, %d, %d", got.Ref.form(), got.Count, got.Change, want.Ref.form(),
			want.Count, want.Change)
	}
	a, _ := s.Append(nil, got, 0, 1<<40)
	b, _ := other.Append(nil, want, 0, 1<<40)
	if string(a) != string(b) {
		t.Fatalf("other elements than after %d changes one by one", want.Change)
	}
	check(got)
}

// expectEmpty expects that a Store has freed everything.
func expectEmpty(t *testing.T, stores ...*Store) {
	t.Helper()
	for _, s := range stores {
		for s.Collect(1000) {
		}
		if s.UsedBytes() != 0 {
			t.Fatalf("%d bytes are left", s.UsedBytes())
		}
	}
}

// TestFill: sets and sorted sets that are filled at once equal sets that are changed one by one, and
// can be changed, and freed, like them.
func TestFill(t *testing.T) {
	r := testRandom(t)
	for _, n := range []int{MinFilled, MinFilled + 1, filledCount * filledCount, filledCount*filledCount + 1, 3000, 5000} {
		s, other := New(testSeed), New(testSeed)
		filled, added := s.Set(Head{}), other.Set(Head{})
		var (
			all  []byte
			some []Hashed
		)
		for _, i := range r.Perm(n) {
			text := fillText(i)
			some = append(some, Hashed{Hash: s.key.Sum(text), At: len(all), Len: len(text)})
			all = append(all, text...)
			added.Add(text)
		}
		filled.Fill(all, some)
		expectSame(t, s, filled.Head, other, added.Head, func(h Head) {
			tree := s.treeOf(h.Ref, setOrder)
			tree.check(t.Fatalf, tree.root, tree.height)
		})
		for i := range n {
			filled.Add(fillText(n + i))
		}
		for i := range n {
			if !filled.Remove(fillText(i)) {
				t.Fatalf("%d members: a member is missing", n)
			}
		}
		s.Free(filled.Head)
		other.Free(added.Head)
		expectEmpty(t, s, other)
	}
}

// TestFillRange copies ranges of a sorted set with equal scores, within a Store and to another.
func TestFillRange(t *testing.T) {
	r := testRandom(t)
	for _, n := range []int{1, 100, maxPacked, maxPacked + 1, 1000, 5000} {
		for _, within := range []bool{true, false} {
			s := New(testSeed)
			from := s
			if !within {
				from = New(testSeed)
			}
			z := from.SortedSet(Head{})
			for i := range n {
				z.Add(fillText(i), []float64{0, 1, -1.5, float64(i)}[r.IntN(4)], 0)
			}
			first := r.IntN(n/4 + 1)
			count := n - first
			other := New(testSeed)
			other.SawChange(s.changes)
			added, filled := other.SortedSet(Head{}), s.SortedSet(Head{})
			walk := z.Walk(first)
			for range count {
				member, score, _ := walk.Next()
				added.Add(member.Append(nil), score, 0)
			}
			filled.FillRange(&z, first, count)
			expectSame(t, s, filled.Head, other, added.Head, func(h Head) {
				if h.Ref.form() == sortedTree {
					index, scores := s.sortedTrees(h.Ref)
					index.check(t.Fatalf, index.root, index.height)
					scores.check(t.Fatalf, scores.root, scores.height)
				}
			})
			from.Free(z.Head)
			for i := range n {
				filled.Remove(fillText(i))
				added.Remove(fillText(i))
			}
			expectEmpty(t, s, from, other)
		}
	}
}

// TestRemoveRanks: members that are removed at once leave the set of removals one by one.
func TestRemoveRanks(t *testing.T) {
	r := testRandom(t)
	for _, n := range []int{20, 100, 600, 3000} {
		for _, k := range []int{0, 1, fewRemoved, fewRemoved + 1, n / 2, n - 1} {
			s, other := New(testSeed), New(testSeed)
			a, b := s.Set(Head{}), other.Set(Head{})
			for i := range n {
				a.Add(fillText(i))
				b.Add(fillText(i))
			}
			ranks := Ranks(nil, r, n, min(k, n-1))
			a.RemoveRanks(ranks)
			for _, rank := range slices.Backward(ranks) {
				member := b.At(rank)
				b.Remove(member.Append(nil))
			}
			expectSame(t, s, a.Head, other, b.Head, func(Head) {})
			s.Free(a.Head)
			other.Free(b.Head)
			expectEmpty(t, s, other)
		}
	}
}

// TestRanksAlike: all ways to choose numbers choose the same as the simplest.
func TestRanksAlike(t *testing.T) {
	r := testRandom(t)
	for range 200 {
		n := 1 + r.IntN(3000)
		k, seed := r.IntN(n+1), r.Uint64()
		source, chosen := &counter{seed}, map[int]bool{-1: true}
		for j := n - k; j < n; j++ {
			if i := Pick(source, j+1); chosen[i] {
				chosen[j] = true
			} else {
				chosen[i] = true
			}
		}
		want := slices.Sorted(maps.Keys(chosen))
		if got := Ranks([]int{-1}, &counter{seed}, n, k); !slices.Equal(got, want) {
			t.Fatalf("Ranks of %d of %d: %v, want %v", k, n, got, want)
		}
	}
}

// A counter is a Source that depends on its start only.
type counter struct{ n uint64 }

func (c *counter) Uint64() uint64 {
	c.n += 0x9e3779b97f4a7c15
	x := (c.n ^ c.n>>30) * 0xbf58476d1ce4e5b9
	return x ^ x>>27
}

// TestSelect: Select leaves the elements that Contains finds, or does not find, for sets of each
// form and density.
func TestSelect(t *testing.T) {
	r := testRandom(t)
	sizes := []int{0, 5, 100, 400, 2000, 20000}
	for _, size := range sizes {
		for _, otherSize := range sizes {
			s, other := New(testSeed), New(testSeed)
			a, b := s.Set(Head{}), other.Set(Head{})
			for range size {
				a.Add(fillText(r.IntN(20000)))
			}
			for range otherSize {
				b.Add(fillText(r.IntN(20000)))
			}
			want := r.IntN(2) == 0
			var all []HashedElement
			var left, expected []string
			walk := a.Walk()
			for m, ok := walk.NextHashed(); ok; m, ok = walk.NextHashed() {
				all = append(all, m)
				if m.Hash != s.key.Sum(m.Append(nil)) {
					t.Fatalf("NextHashed returns the wrong hash of %q", text(m.Element))
				}
				if b.Contains(m.Append(nil)) == want {
					expected = append(expected, text(m.Element))
				}
			}
			for part := range slices.Chunk(all, 700) {
				if looks := b.Looks(part, a.IsOrdered()); looks < 1 || looks > len(part) {
					t.Fatalf("%d look-ups for %d elements", looks, len(part))
				}
				for _, m := range b.Select(part, a.IsOrdered(), want) {
					left = append(left, text(m.Element))
				}
			}
			if !slices.Equal(left, expected) {
				t.Fatalf("%d elements of %d in %d, want %d", len(left), a.Count, b.Count, len(expected))
			}
		}
	}
}
