package values

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"sort"
)

// lookedPerFind is the number of entries that a walk visits in the time of a look-up.
const lookedPerFind = 4

// IsOrdered reports whether a walk visits the members in the order of their hashes.
func (t *Set) IsOrdered() bool { return t.Ref.form() == setTree }

// Select removes each element from all unless Contains returns want. With ordered, they are
// consecutive members of a set that IsOrdered. Requires: the Stores of all sets have the same seed.
// Cost: Looks(all, ordered) look-ups.
func (t *Set) Select(all []HashedElement, ordered, want bool) []HashedElement {
	switch {
	case ordered && t.isSparse(all):
		return t.selectSparse(all, want)
	case ordered && t.merges(all):
		return t.selectMerged(all, want)
	}
	kept := all[:0]
	for i := range all {
		if t.contains(&all[i]) == want {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// selectMerged is Select by a walk through both sets.
func (t *Set) selectMerged(all []HashedElement, want bool) []HashedElement {
	kept, tree := all[:0], t.store.treeOf(t.Ref, setOrder)
	walk := tree.walkFrom(&target{key: all[0].Hash})
	entry := walk.entry()
	for i := range all {
		g, c := target{key: all[i].Hash, member: all[i].Element}, 1
		for entry != nil {
			if c = tree.compare(entry, 0, &g); c >= 0 {
				break
			}
			entry = walk.entry()
		}
		if (entry != nil && c == 0) == want {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// selectSparse is Select by a walk through the members of the set between the first and the last
// of all.
func (t *Set) selectSparse(all []HashedElement, want bool) []HashedElement {
	tree := t.store.treeOf(t.Ref, setOrder)
	walk := tree.walkFrom(&target{key: all[0].Hash})
	kept, from := 0, 0 // all[:kept] is selected, and all[from:] is not compared
	for from < len(all) {
		entry := walk.entry()
		if entry == nil {
			break
		}
		at := from + firstNotBefore(&tree, entry, all[from:])
		if !want {
			kept = moveElements(all, kept, from, at)
		}
		from = at
		if at < len(all) && compareTo(&tree, entry, &all[at]) == 0 {
			if from++; want {
				all[kept] = all[at]
				kept++
			}
		}
	}
	if !want {
		kept = moveElements(all, kept, from, len(all))
	}
	return all[:kept]
}

// moveElements moves all[from:end] to index to, and returns the index after them.
func moveElements(all []HashedElement, to, from, end int) int {
	if to != from {
		copy(all[to:], all[from:end])
	}
	return to + end - from
}

// firstNotBefore returns the index of the first element of all that is not before an entry. Cost:
// logarithmic in the result.
func firstNotBefore(tree *tree, entry []byte, all []HashedElement) int {
	end := 1
	for end < len(all) && compareTo(tree, entry, &all[end]) > 0 {
		end *= 2
	}
	from := end / 2
	return from + sort.Search(min(end, len(all))-from,
		func(i int) bool { return compareTo(tree, entry, &all[from+i]) <= 0 })
}

// compareTo compares an entry with an element.
func compareTo(tree *tree, entry []byte, m *HashedElement) int {
	if key := binary.LittleEndian.Uint64(entry); key != m.Hash {
		return cmp.Compare(key, m.Hash)
	}
	return tree.compare(entry, 0, &target{key: m.Hash, member: m.Element})
}

// Looks returns the work of Select in look-ups.
func (t *Set) Looks(all []HashedElement, ordered bool) int {
	switch {
	case ordered && t.isSparse(all):
		return 1 + t.between(all)/2
	case ordered && t.merges(all):
		return 1 + (len(all)+t.between(all))/lookedPerFind
	}
	return len(all)
}

// isSparse reports whether the set has few members between ordered elements.
func (t *Set) isSparse(all []HashedElement) bool {
	return t.Ref.form() == setTree && t.between(all) < len(all)/(2*lookedPerFind)
}

// merges reports whether a walk through the set finds ordered elements faster than look-ups.
func (t *Set) merges(all []HashedElement) bool {
	return t.Ref.form() == setTree && len(all) > lookedPerFind && t.between(all) < len(all)*(lookedPerFind-1)
}

// between returns about the number of members with hashes between the first and the last of all.
func (t *Set) between(all []HashedElement) int {
	n, _ := bits.Mul64(all[len(all)-1].Hash-all[0].Hash, uint64(t.Count))
	return int(n)
}

// contains is Contains for an element with a hash.
func (t *Set) contains(m *HashedElement) bool {
	if t.Ref.form() == setTree {
		tree := t.store.treeOf(t.Ref, setOrder)
		_, _, ok := tree.find(&target{key: m.Hash, member: m.Element})
		return ok
	}
	var buf [maxPackedText]byte
	return m.Len() <= maxPackedText && t.Contains(m.Append(buf[:0]))
}
