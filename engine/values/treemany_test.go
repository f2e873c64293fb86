package values

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
)

// TestRemoveEach removes random parts of trees with few or many different keys.
func TestRemoveEach(t *testing.T) {
	r := testRandom(t)
	for _, keys := range []uint64{1, 7, 500, 1 << 40} {
		for _, size := range []int{1, 30, 400, 4000} {
			s := New(testSeed)
			tree := tree{store: s, order: setOrder}
			var all []target
			for i := range size {
				member := fmt.Appendf(nil, "m%d", i)
				if i%50 == 0 {
					member = bytes.Repeat(member, 200) // a text of its own
				}
				g := tree.order.target(r.Uint64N(keys), Element{text: member})
				tree.add(len(all), &g, s.encodeEntry(g.key, member))
				all = append(all, g)
			}
			all = sortTargets(all)
			for len(all) > 0 {
				percent := r.IntN(101)
				if len(all) < 3 {
					percent = 100
				}
				var gone, kept []target
				for _, g := range all {
					if r.IntN(100) < percent {
						gone = append(gone, g)
					} else {
						kept = append(kept, g)
					}
				}
				tree.removeEach(len(all), gone)
				expectTargets(t, &tree, kept)
				all = kept
			}
			if s.UsedBytes() != 0 {
				t.Fatalf("%d bytes are left", s.UsedBytes())
			}
		}
	}
}

// TestRemoveRange removes random ranges of a tree by score.
func TestRemoveRange(t *testing.T) {
	r := testRandom(t)
	for _, size := range []int{1, 30, 400, 4000} {
		s := New(testSeed)
		tree := tree{store: s, order: scoreOrder}
		var all []target
		for i := range size {
			g := tree.order.target(scoreKey(float64(r.IntN(size))), Element{text: fmt.Appendf(nil, "m%d", i)})
			tree.add(len(all), &g, s.encodeEntry(g.key, g.member.text))
			all = append(all, g)
		}
		slices.SortFunc(all, func(a, b target) int { return cmp.Or(cmp.Compare(a.key, b.key), a.member.compare(b.member)) })
		for len(all) > 0 {
			from := r.IntN(len(all))
			n := 1 + r.IntN(len(all)-from)
			if r.IntN(2) == 0 {
				n = 1 + r.IntN(min(n, 40))
			}
			tree.removeRange(len(all), from, n)
			all = slices.Delete(all, from, from+n)
			expectTargets(t, &tree, all)
		}
		for s.Collect(1000) {
		}
		if s.UsedBytes() != 0 {
			t.Fatalf("%d bytes are left", s.UsedBytes())
		}
	}
}

// expectTargets expects of a tree that it has the entries.
func expectTargets(t *testing.T, tree *tree, all []target) {
	t.Helper()
	if len(all) == 0 {
		if tree.root != 0 || tree.height != 0 {
			t.Fatalf("an empty tree has height %d", tree.height)
		}
		return
	}
	if _, n := tree.check(t.Fatalf, tree.root, tree.height); n != len(all) {
		t.Fatalf("%d entries, want %d", n, len(all))
	}
	walk := tree.walk(0, false)
	for i := range all {
		if b := walk.entry(); tree.store.element(b[keyBytes:]).compare(all[i].member) != 0 {
			t.Fatalf("entry %d is %.30q, want %.30q", i, b, all[i].member.text)
		}
	}
}

// BenchmarkRemoveRange removes half of a sorted set.
func BenchmarkRemoveRange(b *testing.B) {
	const n = 200_000
	all := benchMembers(n)
	for b.Loop() {
		b.StopTimer()
		s := New(testSeed)
		z := s.SortedSet(Head{})
		for i, member := range all {
			z.Add(member, float64(i), 0)
		}
		b.StartTimer()
		z.RemoveRange(n/4, n/2)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n/2), "ns/member")
}

// BenchmarkMove moves a sorted set to another Store and back.
func BenchmarkMove(b *testing.B) {
	const n = 200_000
	s, other := New(testSeed), New(testSeed)
	z := s.SortedSet(Head{})
	for i, member := range benchMembers(n) {
		z.Add(member, float64(i), 0)
	}
	for b.Loop() {
		z.Head = s.Move(other, other.Move(s, z.Head))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*2), "ns/member")
}
