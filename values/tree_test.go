package values

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestEqualHashes uses trees with nodes that have few different hashes.
func TestEqualHashes(t *testing.T) {
	r := testRandom(t)
	s := New(testSeed)
	type node struct {
		hash   uint64
		member string
		ref    blobRef
	}
	compare := func(a, b node) int {
		if a.hash != b.hash {
			return int(a.hash) - int(b.hash)
		}
		return strings.Compare(a.member, b.member)
	}
	var (
		root blobRef
		all  []node
	)
	for range 3000 {
		x := node{hash: r.Uint64N(4), member: fmt.Sprint("m", r.IntN(300))}
		i, found := slices.BinarySearchFunc(all, x, compare)
		ref := s.find(memberOrder, root, x.hash, []byte(x.member))
		if (ref != 0) != found || found && ref != all[i].ref {
			t.Fatalf("find(%d, %s) = %d, want %v", x.hash, x.member, ref, found)
		}
		switch {
		case !found:
			x.ref = s.newNode(memberOrder, x.hash, s.encode([]byte(x.member)), []byte{0})
			root = s.add(memberOrder, root, x.ref)
			all = slices.Insert(all, i, x)
		case r.IntN(3) > 0:
			root = s.cut(memberOrder, root, ref)
			s.releaseNode(hashNodes, ref)
			all = slices.Delete(all, i, i+1)
		default:
			long := s.encode([]byte(strings.Repeat("v", r.IntN(200))))
			root = s.setValue(root, ref, long)
			all[i].ref = s.find(memberOrder, root, x.hash, []byte(x.member))
		}
		for _, reverse := range []bool{false, true} {
			w := treeWalk{store: s, root: root, order: memberOrder}
			if w.pushEdge(root); reverse {
				w = treeWalk{store: s, root: root, order: memberOrder, side: 1}
				w.pushEdge(root)
			}
			for i := range all {
				if reverse {
					i = len(all) - 1 - i
				}
				if got := w.next(); got != all[i].ref {
					t.Fatalf("walk at %d: %d, want %d", i, got, all[i].ref)
				}
			}
			if w.next() != 0 {
				t.Fatal("walk does not end")
			}
		}
		if len(all) > 0 {
			i := r.IntN(len(all))
			if s.rankOf(memberOrder, root, all[i].ref) != i || s.nodeAt(memberOrder, root, i) != all[i].ref || s.size(root) != len(all) {
				t.Fatalf("rank %d of %d is wrong", i, len(all))
			}
		}
	}
	// A scan ends only between different hashes.
	cursor, seen := uint64(0), 0
	for first := true; first || cursor != 0; first = false {
		scan := s.scanFrom(memberOrder, root, cursor, 2)
		for scan.next() != 0 {
			seen++
		}
		cursor = scan.cursor()
	}
	if seen != len(all) {
		t.Errorf("scans visited %d nodes, want %d", seen, len(all))
	}
}

// TestDeepWalk walks a list of nodes, which is deeper than the path of a walk.
func TestDeepWalk(t *testing.T) {
	s := New(testSeed)
	var all []blobRef
	for i := range 200 {
		r := s.newNode(memberOrder, uint64(i), s.encode([]byte("m")), nil)
		if i > 0 {
			setChild(s.edit(r), memberOrder, 0, all[i-1])
			addSize(s.edit(r), i)
		}
		all = append(all, r)
	}
	for from := range 200 {
		w := treeWalk{store: s, root: all[199], order: memberOrder}
		w.seekRank(from)
		for _, want := range all[from:] {
			if got := w.next(); got != want {
				t.Fatalf("next = %d, want %d", got, want)
			}
		}
		if w.next() != 0 {
			t.Fatal("walk does not end")
		}
	}
}

// TestDepth expects of trees that they are balanced.
func TestDepth(t *testing.T) {
	s := New(testSeed)
	z := s.SortedSet(Head{})
	for i := range 20_000 {
		z.Add(fmt.Appendf(nil, "member:%d", i), float64(i), 0)
	}
	var depth func(o order, r blobRef) int
	depth = func(o order, r blobRef) int {
		if r == 0 {
			return 0
		}
		return 1 + max(depth(o, child(s.view(r), o, 0)), depth(o, child(s.view(r), o, 1)))
	}
	for _, o := range []order{hashOrder, scoreOrder} {
		if got := depth(o, z.Ref.blob()); got > 50 {
			t.Errorf("depth of order %d is %d, want at most 50", o, got)
		}
	}
}
