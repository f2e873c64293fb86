package values

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// check expects of a tree that its branches are right, and returns its number of entries.
func (t *tree) check(fail func(format string, args ...any), r blobRef, level int) (first uint64, count int) {
	s := t.store
	if level == 0 {
		b := t.entries(r)
		for at := 0; at < len(b); at = t.order.entryEnd(b, at) {
			count++
		}
		if count == 0 || count > maxEntries {
			fail("a leaf has %d entries", count)
		}
		return binary.LittleEndian.Uint64(b), count
	}
	x := s.view(r)
	if n := branches(x); n == 0 || n > maxBranches || level == t.height && n == 1 {
		fail("a node at level %d of %d has %d branches", level, t.height, n)
	}
	for i := range branches(x) {
		b := branchAt(x, i)
		key, n := t.check(fail, b.blob, level-1)
		if b.key != key || b.count != n {
			fail("a branch has key %d and count %d, want %d and %d", b.key, b.count, key, n)
		}
		if count += n; i == 0 {
			first = key
		}
	}
	return first, count
}

// TestTree uses trees with few or many different keys, so that neighbours have equal keys.
func TestTree(t *testing.T) {
	r := testRandom(t)
	type node struct {
		key    uint64
		member string
	}
	compare := func(a, b node) int {
		if a.key != b.key {
			return int(a.key) - int(b.key)
		}
		return slices.Compare([]byte(a.member), []byte(b.member))
	}
	for _, keys := range []uint64{1, 4, 100, 1 << 40} {
		s := New(testSeed)
		tree := tree{store: s, order: setOrder}
		var all []node
		for step := range 6000 {
			x := node{key: r.Uint64N(keys), member: fmt.Sprint("m", r.IntN(3000))}
			if step > 3000 && len(all) > 0 && r.IntN(8) > 0 {
				x = all[r.IntN(len(all))]
			}
			i, found := slices.BinarySearchFunc(all, x, compare)
			g := tree.order.target(x.key, Element{text: []byte(x.member)})
			if _, _, ok := tree.find(&g); ok != found {
				t.Fatalf("find(%d, %s) = %v, want %v", x.key, x.member, ok, found)
			}
			if rank := tree.rank(&g); rank != i {
				t.Fatalf("rank(%d, %s) = %d, want %d", x.key, x.member, rank, i)
			}
			if found {
				tree.remove(len(all), &g)
				all = slices.Delete(all, i, i+1)
			} else {
				tree.add(len(all), &g, s.encodeEntry(x.key, []byte(x.member)))
				all = slices.Insert(all, i, x)
			}
			if step%100 > 0 || len(all) == 0 {
				continue
			}
			if _, n := tree.check(t.Fatalf, tree.root, tree.height); n != len(all) {
				t.Fatalf("%d entries, want %d", n, len(all))
			}
			from := r.IntN(len(all))
			up, down := tree.walk(from, false), tree.walk(from, true)
			for i, want := range all[from:] {
				if b := up.entry(); text(s.element(b[keyBytes:])) != want.member {
					t.Fatalf("walk from %d after %d: %.20q, want %s", from, i, b, want.member)
				}
			}
			for i := from; i >= 0; i-- {
				if b := down.entry(); text(s.element(b[keyBytes:])) != all[i].member {
					t.Fatalf("walk down from %d at %d: %.20q, want %s", from, i, b, all[i].member)
				}
			}
			if up.entry() != nil || down.entry() != nil {
				t.Fatal("walk does not end")
			}
			if b, at := tree.at(from); text(s.element(b[at+keyBytes:])) != all[from].member {
				t.Fatalf("at(%d): %.20q, want %s", from, b[at:], all[from].member)
			}
		}
		// A scan ends only between different hashes.
		cursor, seen := uint64(0), 0
		for first := true; first || cursor != 0; first = false {
			scan := tree.scanFrom(cursor, 2)
			for scan.entry() != nil {
				seen++
			}
			cursor = scan.cursor()
		}
		if seen != len(all) {
			t.Errorf("scans visited %d entries, want %d", seen, len(all))
		}
	}
}

// TestTreeHeight expects of trees that they are flat, also after most was removed.
func TestTreeHeight(t *testing.T) {
	s := New(testSeed)
	z := s.SortedSet(Head{})
	const members = 50_000
	for i := range members {
		z.Add(fmt.Appendf(nil, "member:%d", i), float64(i), 0)
	}
	expect := func(most int) {
		t.Helper()
		index, scores := s.sortedTrees(z.Ref)
		index.check(t.Fatalf, index.root, index.height)
		scores.check(t.Fatalf, scores.root, scores.height)
		if index.height > most || scores.height > most {
			t.Errorf("heights are %d and %d, want at most %d", index.height, scores.height, most)
		}
	}
	expect(3)
	for i := range members {
		if i%100 > 0 {
			z.Remove(fmt.Appendf(nil, "member:%d", i))
		}
	}
	expect(2)
	z.RemoveRange(0, z.Count-1)
	expect(0)
}

func TestScoreKeys(t *testing.T) {
	last := uint64(0)
	for _, score := range []float64{-1e300, -2, -1e-300, 0, 1e-300, 1, 1e300} {
		if key := scoreKey(score); key <= last || keyScore(key) != score {
			t.Errorf("scoreKey(%v) = %d, keyScore %v", score, key, keyScore(key))
		} else {
			last = key
		}
	}
}
