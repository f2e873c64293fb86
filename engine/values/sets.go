package values

import (
	"encoding/binary"

	"limitsrv/engine/values/numbers"
)

// A Set is a cursor on a set. Its functions that change the set change Head, which the
// owner must then keep. Arguments must not be memory of the Store.
//
// Members are in ascending order while all are integers, up to 512 of them; else in the
// order of insertion up to 128 members of up to 64 bytes; and in the order of their hashes
// once that was exceeded.
type Set struct {
	store *Store
	Head
}

// Set returns a cursor on the set of h, which may be empty.
func (s *Store) Set(h Head) Set { return Set{s, h} }

// Contains reports whether a member is in the set.
func (t *Set) Contains(member []byte) bool {
	s := t.store
	switch t.Ref.form() {
	case setInts:
		n, ok := numbers.ParseInt(member)
		if ok {
			_, ok = findInt(s.packed(t.Ref), n)
		}
		return ok
	case setPacked:
		return isShort(member) && findElement(s.packed(t.Ref), s.encode(member), 1) >= 0
	case setTree:
		tree := s.treeOf(t.Ref, setOrder)
		g := tree.order.target(s.key.Sum(member), Element{text: member})
		_, _, ok := tree.find(&g)
		return ok
	}
	return false
}

// Add adds a member and reports whether it is new.
func (t *Set) Add(member []byte) (added bool) {
	s := t.store
	if t.Ref == 0 || t.Ref.form() == setInts {
		if n, ok := numbers.ParseInt(member); ok {
			if !t.addInt(n) {
				return false
			}
			if t.Count > maxInts {
				t.unpack()
			}
			t.Change = s.changed()
			return true
		}
		switch {
		case t.Count >= maxPacked || !isShort(member):
			t.unpack()
		case t.Ref == 0:
			t.Ref = makeRef(setPacked, 0, 0)
		default:
			t.packInts()
		}
	}
	if t.Ref.form() == setPacked {
		added = t.addPacked(member)
	} else {
		added = t.addToTree(member)
	}
	if added {
		t.Change = s.changed()
	}
	return added
}

// addPacked adds a member to a packed set, which may become a large set.
func (t *Set) addPacked(member []byte) bool {
	s := t.store
	if isShort(member) {
		element, n := s.encode(member), t.Ref.length()
		if n > 0 && findElement(s.packed(t.Ref), element, 1) >= 0 {
			return false
		}
		if t.Count < maxPacked {
			t.Ref = s.splice(t.Ref, n, 0, element)
			t.Count++
			return true
		}
	}
	t.unpack()
	return t.addToTree(member)
}

// addToTree adds a member to a large set.
func (t *Set) addToTree(member []byte) bool {
	s, tree := t.store, t.store.treeOf(t.Ref, setOrder)
	g := tree.order.target(s.key.Sum(member), Element{text: member})
	if _, _, ok := tree.find(&g); ok {
		return false
	}
	tree.add(t.Count, &g, s.encodeEntry(g.key, member))
	t.Ref = tree.ref(setTree)
	t.Count++
	return true
}

// Reserve stores the set for so many more members; first is one of them. A set with too
// many members for its form is stored as a large set.
func (t *Set) Reserve(members int, first []byte) {
	limit := maxPacked
	if _, ok := numbers.ParseInt(first); t.Ref.form() == setInts || t.Ref == 0 && ok {
		limit = maxInts
	}
	if members > limit && t.Ref.form() != setTree {
		t.unpack()
	}
}

// unpack stores the set as a tree.
func (t *Set) unpack() {
	old, walk := t.Ref, t.Walk()
	t.Ref, t.Count = makeRef(setTree, 0, 0), 0
	var buf [maxPackedText]byte
	for e, ok := walk.Next(); ok; e, ok = walk.Next() {
		t.addToTree(e.Append(buf[:0]))
	}
	if old.blob() != 0 {
		t.store.release(old.blob())
	}
}

// Remove removes a member and reports whether it was in the set.
func (t *Set) Remove(member []byte) bool {
	s := t.store
	switch t.Ref.form() {
	case setInts:
		n, ok := numbers.ParseInt(member)
		if !ok {
			return false
		}
		b := s.packed(t.Ref)
		i, found := findInt(b, n)
		if !found {
			return false
		}
		width := int(b[0])
		if t.Count == 1 {
			t.Ref = s.splice(t.Ref, 0, len(b), nil)
		} else {
			t.Ref = s.splice(t.Ref, intsHead+i*width, width, nil)
		}
	case setPacked:
		b := s.packed(t.Ref)
		at := -1
		if isShort(member) {
			at = findElement(b, s.encode(member), 1)
		}
		if at < 0 {
			return false
		}
		t.Ref = s.splice(t.Ref, at, elementEnd(b, at)-at, nil)
	case setTree:
		tree := s.treeOf(t.Ref, setOrder)
		g := tree.order.target(s.key.Sum(member), Element{text: member})
		leaf, at, ok := tree.find(&g)
		if !ok {
			return false
		}
		old := s.element(tree.entries(leaf)[at+keyBytes:])
		tree.remove(t.Count, &g)
		s.releaseElement(old)
		t.Ref = tree.ref(setTree)
	default:
		return false
	}
	t.Change = s.changed()
	t.removed(1)
	return true
}

// RemoveRanks removes the members at indexes, which are in ascending order. Requires: they exist,
// and other members remain.
func (t *Set) RemoveRanks(ranks []int) {
	s := t.store
	if t.Ref.form() != setTree || len(ranks) <= fewRemoved {
		for i := len(ranks) - 1; i >= 0; i-- {
			member := t.At(ranks[i])
			s.member = member.Append(s.member[:0])
			t.Remove(s.member)
		}
		return
	}
	for left := len(ranks); left > 0; left -= min(left, maxRemoved) {
		some, tree := ranks[left-min(left, maxRemoved):left], s.treeOf(t.Ref, setOrder)
		gone := make([]target, len(some))
		for i, rank := range some {
			b, at := tree.at(rank)
			gone[i] = target{key: binary.LittleEndian.Uint64(b[at:]), member: s.element(b[at+keyBytes:])}
		}
		tree.removeEach(t.Count, gone)
		t.Ref = tree.ref(setTree)
		t.removed(len(some))
	}
	t.Change = s.changedBy(len(ranks))
}

// At returns member i. Requires: it exists. Cost: O(Count) if packed, at most 128 steps.
func (t *Set) At(i int) Element {
	s := t.store
	switch t.Ref.form() {
	case setInts:
		return intElement(intAt(s.packed(t.Ref), i))
	case setTree:
		tree := s.treeOf(t.Ref, setOrder)
		b, at := tree.at(i)
		return s.element(b[at+keyBytes:])
	}
	b := s.packed(t.Ref)
	return s.element(b[elementAt(b, i):])
}

// A SetWalk visits members of a set, which must not change meanwhile.
type SetWalk struct {
	store *Store
	bytes []byte // of a packed set, the rest
	width int    // of packed integers
	scan  scan
}

// Walk visits all members.
func (t *Set) Walk() SetWalk { return t.Scan(0, t.Count) }

// Scan visits about n members from a cursor on, 0 for the start, and all of a small set.
// All members that are in the set from the first scan to the last are visited.
func (t *Set) Scan(cursor uint64, n int) SetWalk {
	s := t.store
	w := SetWalk{store: s}
	switch t.Ref.form() {
	case setTree:
		tree := s.treeOf(t.Ref, setOrder)
		w.scan = tree.scanFrom(cursor, n)
	case setInts:
		b := s.packed(t.Ref)
		w.width, w.bytes = int(b[0]), b[intsHead:]
	case setPacked:
		w.bytes = s.packed(t.Ref)
	}
	return w
}

// Next returns the next member, or false at the end.
func (w *SetWalk) Next() (member Element, ok bool) {
	if b := w.bytes; len(b) > 0 {
		if w.width > 0 {
			w.bytes = b[w.width:]
			return intElement(readInt(b, 0, w.width)), true
		}
		w.bytes = b[elementEnd(b, 0):]
		return w.store.element(b), true
	}
	if b := w.scan.entry(); b != nil {
		return w.store.element(b[keyBytes:]), true
	}
	return Element{}, false
}

// A HashedElement is a member of a set, and its hash, see Set.Hash.
type HashedElement struct {
	Hash  uint64
	Place int // for the use of callers
	Element
}

// NextHashed is Next with the member's hash.
func (w *SetWalk) NextHashed() (m HashedElement, ok bool) {
	if b := w.scan.entry(); b != nil {
		return HashedElement{Hash: binary.LittleEndian.Uint64(b), Element: w.store.element(b[keyBytes:])}, true
	}
	if m.Element, ok = w.Next(); ok {
		var buf [maxPackedText]byte
		m.Hash = w.store.key.Sum(m.Append(buf[:0]))
	}
	return m, ok
}

// Cursor returns the cursor of the next Scan, 0 if all members were visited. Requires:
// Next returned false.
func (w *SetWalk) Cursor() uint64 { return w.scan.cursor() }
