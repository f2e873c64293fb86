package values

import "math/bits"

// lookedPerFind is the number of entries that a walk visits in the time of a look-up.
const lookedPerFind = 4

// IsOrdered reports whether a walk visits the members in the order of their hashes.
func (t *Set) IsOrdered() bool { return t.Ref.form() == setTree }

// Select removes the elements from all for which Contains is not want. With ordered, they are
// consecutive members of a set that IsOrdered. Requires: the Stores of all sets have the same seed.
// Cost: Looks(all, ordered) look-ups.
func (t *Set) Select(all []HashedElement, ordered, want bool) []HashedElement {
	kept := all[:0]
	if ordered && t.merges(all) {
		tree := t.store.treeOf(t.Ref, setOrder)
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
	for i := range all {
		if t.contains(&all[i]) == want {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// Looks returns the work of Select in look-ups.
func (t *Set) Looks(all []HashedElement, ordered bool) int {
	if ordered && t.merges(all) {
		return 1 + (len(all)+t.between(all))/lookedPerFind
	}
	return len(all)
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
