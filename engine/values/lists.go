package values

import (
	"encoding/binary"
	"math"
)

// A List is a cursor on a list. Its functions that change the list change Head, which the
// owner must then keep. Arguments must not be memory of the Store.
//
// Reserve decides when a packed list becomes chunks; without it, at 32 KB or more.
type List struct {
	store *Store
	Head
}

// List returns a cursor on the list of h, which may be empty.
func (s *Store) List(h Head) List { return List{s, h} }

// A packed list is its size as Redis counts it, in 2 bytes, and its entries. An entry is an
// element and the length of that: a byte up to maxBack, else two, low byte first, and
// backMark.
const (
	listHead     = 2
	maxBack      = 253
	backMark     = 255
	emptySize    = 7 // of an empty list as Redis counts it
	maxListBytes = 4 * maxPackedList
)

// appendBack appends the length of an element.
func appendBack(dst []byte, n int) []byte {
	if n <= maxBack {
		return append(dst, byte(n))
	}
	return append(dst, byte(n), byte(n>>8), backMark)
}

// entryEnd returns the offset after the entry at an offset.
func entryEnd(b []byte, at int) int {
	end := elementEnd(b, at)
	if end-at <= maxBack {
		return end + 1
	}
	return end + 3
}

// entryStart returns the offset of the entry that ends at an offset.
func entryStart(b []byte, end int) int {
	if n := int(b[end-1]); n != backMark {
		return end - 1 - n
	}
	return end - 3 - int(binary.LittleEndian.Uint16(b[end-3:]))
}

// encodeListEntry returns the entry of a text in the Store's scratch memory.
func (s *Store) encodeListEntry(b []byte) []byte {
	s.scratch = s.appendElement(s.scratch[:0], b, maxInline)
	s.scratch = appendBack(s.scratch, len(s.scratch))
	return s.scratch
}

// redisBytes returns the size of an element in a list of Redis.
func redisBytes(e Element) int {
	if n, ok := e.Int(); ok {
		switch {
		case n >= 0 && n < 1<<7:
			return 2
		case n >= -1<<12 && n < 1<<12:
			return 3
		case n >= -1<<15 && n < 1<<15:
			return 4
		case n >= -1<<23 && n < 1<<23:
			return 5
		case n >= -1<<31 && n < 1<<31:
			return 6
		}
		return 10
	}
	n := e.Len()
	switch {
	case n < 64:
		n++
	case n < 4096:
		n += 2
	default:
		n += 5
	}
	switch {
	case n <= 127:
		return n + 1
	case n < 16383:
		return n + 2
	}
	return n + 3
}

// Reserve must be called before entries with so many bytes, all together, are added at once
// or replace other entries: the list becomes chunks if with them it would be larger than 8
// KB as Redis counts it.
func (l *List) Reserve(bytes int) {
	if l.Ref.form() != listChunks && l.redisSize()+bytes > maxPackedList {
		l.unpack()
	}
}

// redisSize returns the size of a packed list as Redis counts it.
func (l *List) redisSize() int {
	if l.Ref.length() == 0 {
		return emptySize
	}
	return int(binary.LittleEndian.Uint16(l.store.packed(l.Ref)))
}

func (l *List) addRedisSize(n int) {
	b := l.store.edit(l.Ref.blob())
	binary.LittleEndian.PutUint16(b, uint16(int(binary.LittleEndian.Uint16(b))+n))
}

// A spot is the offset of the start or the end of an entry, in a packed list or a chunk.
type spot struct {
	blob blobRef
	at   int
}

// span returns the bytes of a packed list or of a chunk, and the offsets of its entries.
func (l *List) span(r blobRef) (b []byte, start, end int) {
	if l.Ref.form() == listPacked {
		return l.store.packed(l.Ref), listHead, l.Ref.length()
	}
	b = l.store.view(r)
	start, end, _ = chunkSpan(b)
	return b, start, end
}

// seek returns the spot of entry i, or of the end.
func (l *List) seek(i int) spot {
	r := l.Ref.blob()
	n := l.Count
	if l.Ref.form() == listChunks {
		r, i, n = l.store.seekChunk(r, i, l.Count)
	}
	b, start, end := l.span(r)
	if i <= n/2 {
		at := start
		for range i {
			at = entryEnd(b, at)
		}
		return spot{r, at}
	}
	at := end
	for range n - i {
		at = entryStart(b, at)
	}
	return spot{r, at}
}

// At returns entry i. Requires: it exists. Cost: a step for each chunk of 4 KB, and for
// each entry in its chunk, from the nearer end.
func (l *List) At(i int) Element {
	p := l.seek(i)
	return l.store.element(l.store.view(p.blob)[p.at:])
}

// Insert adds an entry as entry i. Requires: i <= Count. Cost: as At, and for a packed list
// one copy of the bytes after the entry.
func (l *List) Insert(i int, b []byte) {
	s := l.store
	l.Change = s.changed()
	l.insert(i, s.encodeListEntry(b))
}

// insert adds an entry that is in the scratch memory.
func (l *List) insert(i int, entry []byte) {
	s := l.store
	size := redisBytes(s.element(entry))
	if l.Ref == 0 {
		l.Ref = makeRef(listPacked, 0, 0)
	}
	if l.Ref.form() == listPacked && (l.Ref.length()+len(entry) > maxListBytes || l.redisSize()+size > math.MaxUint16) {
		l.unpack()
	}
	if l.Ref.form() == listChunks {
		l.insertChunked(i, entry)
		l.Count++
		return
	}
	if l.Ref.length() == 0 {
		head := [listHead]byte{emptySize}
		l.Ref = s.splice(l.Ref, 0, 0, head[:])
	}
	l.Ref = s.splice(l.Ref, l.seek(i).at, 0, entry)
	l.Count++
	l.addRedisSize(size)
}

// Delete removes entry i. Requires: it exists. Cost: as Insert.
func (l *List) Delete(i int) {
	s := l.store
	l.Change = s.changed()
	if l.Count == 1 {
		s.Free(l.Head)
		l.removed(1)
		return
	}
	p := l.seek(i)
	b := s.view(p.blob)
	element, n := s.element(b[p.at:]), entryEnd(b, p.at)-p.at
	if l.Ref.form() == listPacked {
		l.addRedisSize(-redisBytes(element))
		s.releaseElement(element)
		l.Ref = s.splice(l.Ref, p.at, n, nil)
	} else {
		s.releaseElement(element)
		l.cutChunk(p, n)
	}
	l.Count--
}

// Set replaces entry i. Requires: it exists. Cost: as Insert.
func (l *List) Set(i int, b []byte) {
	s := l.store
	l.Change = s.changed()
	entry := s.encodeListEntry(b)
	p := l.seek(i)
	old := s.view(p.blob)[p.at:]
	if end := entryEnd(old, 0); end == len(entry) && old[0] != tagLong && entry[0] != tagLong &&
		l.Ref.form() == listChunks {
		copy(s.edit(p.blob)[p.at:], entry)
		return
	}
	l.insert(i, entry)
	l.Delete(i + 1)
}

// Trim removes all entries except n after the first from. Requires: they exist.
func (l *List) Trim(from, n int) {
	s := l.store
	if n == l.Count {
		return
	}
	l.Change = s.changed()
	if n == 0 {
		s.Free(l.Head)
		l.removed(l.Count)
		return
	}
	if l.Ref.form() == listChunks {
		l.trimChunks(from, l.Count-from-n)
		l.Count = n
		return
	}
	l.cutPacked(l.seek(from+n).at, l.Ref.length())
	l.Count = from + n
	l.cutPacked(listHead, l.seek(from).at)
	l.Count = n
}

// cutPacked removes the entries between two offsets from a packed list, which must not
// become empty.
func (l *List) cutPacked(from, to int) {
	s := l.store
	b := s.packed(l.Ref)
	size := 0
	for at := from; at < to; at = entryEnd(b, at) {
		e := s.element(b[at:])
		size += redisBytes(e)
		s.releaseElement(e)
	}
	l.addRedisSize(-size)
	l.Ref = s.splice(l.Ref, from, to-from, nil)
}

// RemoveEqual removes the first n entries that are equal to b; the last -n if n is
// negative; all if n is 0. It returns their number. Cost: O(Count).
func (l *List) RemoveEqual(b []byte, n int) (removed int) {
	if l.Count == 0 {
		return 0
	}
	equal := 0
	walk := l.Walk(0)
	for e, ok := walk.Next(); ok; e, ok = walk.Next() {
		if e.Equal(b) {
			equal++
		}
	}
	skip, most := 0, equal
	if n > 0 {
		most = min(n, equal)
	} else if n < 0 && -n < equal {
		skip, most = equal+n, -n
	}
	switch {
	case most == 0:
		return 0
	case most == l.Count:
		l.Trim(0, 0)
		return most
	}
	l.Change = l.store.changed()
	c := cutting{equal: b, skip: skip, left: most}
	if l.Ref.form() == listChunks {
		l.cutChunks(&c)
	} else {
		_, start, end := l.span(0)
		kept := l.store.cutEqual(&c, l.store.edit(l.Ref.blob()), start, end)
		l.addRedisSize(-c.size)
		l.Ref = l.store.splice(l.Ref, kept, end-kept, nil)
	}
	l.Count -= most
	return most
}

// cutting is the removal of entries that are equal to a text.
type cutting struct {
	equal []byte
	skip  int // equal entries to keep before the removed entries
	left  int // entries to remove
	size  int // of those removed, as Redis counts it
	count int // of those removed
}

// ListWalk visits entries of a list, which must not change meanwhile.
type ListWalk struct {
	list    List
	at      spot
	left    int
	reverse bool
}

// Walk visits all entries from entry i on, forwards.
func (l *List) Walk(i int) ListWalk {
	w := ListWalk{list: *l, left: l.Count - i}
	if w.left > 0 {
		w.at = l.seek(i)
	}
	return w
}

// WalkBack visits all entries from entry i on, backwards.
func (l *List) WalkBack(i int) ListWalk {
	w := ListWalk{list: *l, left: i + 1, reverse: true}
	if w.left > 0 {
		w.at = l.seek(i)
		w.at.at = entryEnd(l.store.view(w.at.blob), w.at.at)
	}
	return w
}

// Next returns the next entry, or false at the end.
func (w *ListWalk) Next() (entry Element, ok bool) {
	if w.left <= 0 {
		return Element{}, false
	}
	w.left--
	b, start, end := w.list.span(w.at.blob)
	if w.reverse {
		if w.at.at == start {
			w.at.blob = chunkPrev(b)
			b, _, end = w.list.span(w.at.blob)
			w.at.at = end
		}
		w.at.at = entryStart(b, w.at.at)
		return w.list.store.element(b[w.at.at:]), true
	}
	if w.at.at == end {
		w.at.blob = chunkNext(b)
		b, start, _ = w.list.span(w.at.blob)
		w.at.at = start
	}
	at := w.at.at
	w.at.at = entryEnd(b, at)
	return w.list.store.element(b[at:]), true
}
