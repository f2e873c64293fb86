package values

import "encoding/binary"

// A large list is a ring of chunks, each a blob:
//
//	previous and next chunk      4, 4; the first is before the last
//	start and end of entries     2, 2
//	number of entries            2
//	room, entries, room
//
// Entries are added at either end of a chunk while there is room. Chunks that are together
// less than half full are merged when entries are removed.
const (
	chunkBytes = maxSlot
	chunkHead  = 14
	maxMerged  = chunkBytes / 2
)

func chunkPrev(b []byte) blobRef { return blobRef(binary.LittleEndian.Uint32(b)) }

func chunkNext(b []byte) blobRef { return blobRef(binary.LittleEndian.Uint32(b[4:])) }

func setChunkPrev(b []byte, r blobRef) { binary.LittleEndian.PutUint32(b, uint32(r)) }

func setChunkNext(b []byte, r blobRef) { binary.LittleEndian.PutUint32(b[4:], uint32(r)) }

func chunkSpan(b []byte) (start, end, count int) {
	return int(binary.LittleEndian.Uint16(b[8:])), int(binary.LittleEndian.Uint16(b[10:])),
		int(binary.LittleEndian.Uint16(b[12:]))
}

func setChunkSpan(b []byte, start, end, count int) {
	binary.LittleEndian.PutUint16(b[8:], uint16(start))
	binary.LittleEndian.PutUint16(b[10:], uint16(end))
	binary.LittleEndian.PutUint16(b[12:], uint16(count))
}

// newChunk returns a chunk without entries, in the ring after r, or in a ring of its own if
// r is 0. Its first entry will be at an offset.
func (s *Store) newChunk(after blobRef, start int) blobRef {
	r := s.alloc(chunkBytes)
	setChunkSpan(s.edit(r), start, start, 0)
	next := r
	if after == 0 {
		after = r
	} else {
		next = chunkNext(s.view(after))
	}
	setChunkNext(s.edit(r), next)
	setChunkPrev(s.edit(r), after)
	setChunkPrev(s.edit(next), r)
	setChunkNext(s.edit(after), r)
	return r
}

// dropChunk removes a chunk, which is not the only one, from the list.
func (l *List) dropChunk(r blobRef) {
	s := l.store
	b := s.view(r)
	prev, next := chunkPrev(b), chunkNext(b)
	setChunkNext(s.edit(prev), next)
	setChunkPrev(s.edit(next), prev)
	if r == l.Ref.blob() {
		l.Ref = makeRef(listChunks, 0, next)
	}
	s.release(r)
}

// openRing makes the chunk before the first the end.
func (s *Store) openRing(first blobRef) { setChunkNext(s.edit(chunkPrev(s.view(first))), 0) }

// releaseChunk frees a chunk and its elements, and returns the next chunk.
func (s *Store) releaseChunk(r blobRef) (next blobRef) {
	b := s.view(r)
	start, end, _ := chunkSpan(b)
	s.releaseEntries(b[start:end])
	next = chunkNext(b)
	s.release(r)
	return next
}

// releaseEntries frees the memory of entries besides their stored form.
func (s *Store) releaseEntries(b []byte) {
	for at := 0; at < len(b); at = entryEnd(b, at) {
		s.releaseElement(s.element(b[at:]))
	}
}

// seekChunk returns the chunk of entry i, or of the end, of a list of count entries, with
// its number in the chunk, and the number of entries there.
func (s *Store) seekChunk(first blobRef, i, count int) (r blobRef, in, n int) {
	r = first
	if i > count/2 {
		for i = count - i; ; i -= n {
			r = chunkPrev(s.view(r))
			if _, _, n = chunkSpan(s.view(r)); i <= n {
				return r, n - i, n
			}
		}
	}
	for {
		if _, _, n = chunkSpan(s.view(r)); i < n || n == 0 {
			return r, i, n
		}
		i -= n
		r = chunkNext(s.view(r))
	}
}

// unpack stores the list as chunks.
func (l *List) unpack() {
	s, old := l.store, l.Ref
	first := s.newChunk(0, chunkHead)
	l.Ref = makeRef(listChunks, 0, first)
	if old.length() == 0 {
		return
	}
	b := s.packed(old)
	for at := listHead; at < len(b); {
		end := entryEnd(b, at)
		r := chunkPrev(s.view(first))
		_, last, _ := chunkSpan(s.view(r))
		l.insertAt(spot{r, last}, b[at:end])
		at = end
	}
	s.release(old.blob())
}

// insertChunked adds an entry as entry i.
func (l *List) insertChunked(i int, entry []byte) { l.insertAt(l.seek(i), entry) }

// insertAt adds an entry at a spot.
func (l *List) insertAt(p spot, entry []byte) {
	s, n := l.store, len(entry)
	b := s.edit(p.blob)
	start, end, count := chunkSpan(b)
	used := end - start
	switch {
	case p.at == start && start-n >= chunkHead:
		copy(b[start-n:], entry)
		setChunkSpan(b, start-n, end, count+1)
	case p.at == end && end+n <= chunkBytes:
		copy(b[end:], entry)
		setChunkSpan(b, start, end+n, count+1)
	case p.at == end && used <= maxMerged:
		l.insertAt(spot{p.blob, moveEntries(b, chunkHead) + used}, entry)
	case p.at == start && used <= maxMerged:
		l.insertAt(spot{p.blob, moveEntries(b, chunkBytes-used)}, entry)
	case p.at == start:
		l.insertBefore(p.blob, entry)
	case p.at == end:
		l.insertAfter(p.blob, entry)
	case end+n <= chunkBytes:
		copy(b[p.at+n:], b[p.at:end])
		copy(b[p.at:], entry)
		setChunkSpan(b, start, end+n, count+1)
	case start-n >= chunkHead:
		copy(b[start-n:], b[start:p.at])
		copy(b[p.at-n:], entry)
		setChunkSpan(b, start-n, end, count+1)
	case used+n <= chunkBytes-chunkHead:
		l.insertAt(spot{p.blob, p.at - start + moveEntries(b, chunkHead)}, entry)
	default:
		s.splitChunk(p)
		l.insertAt(p, entry)
	}
}

// moveEntries moves the entries of a chunk to an offset, which it returns.
func moveEntries(b []byte, to int) int {
	start, end, count := chunkSpan(b)
	copy(b[to:], b[start:end])
	setChunkSpan(b, to, to+end-start, count)
	return to
}

// hasRoom reports whether the chunk before or after r has room for n bytes.
func (s *Store) hasRoom(r blobRef, n int) bool {
	start, end, _ := chunkSpan(s.view(r))
	return end-start+n <= maxMerged
}

// insertBefore adds an entry before the entries of a chunk without room.
func (l *List) insertBefore(r blobRef, entry []byte) {
	s := l.store
	prev := chunkPrev(s.view(r))
	if r == l.Ref.blob() {
		prev = s.newChunk(prev, chunkBytes)
		l.Ref = makeRef(listChunks, 0, prev)
	} else if _, end, _ := chunkSpan(s.view(prev)); end+len(entry) > chunkBytes && !s.hasRoom(prev, len(entry)) {
		prev = s.newChunk(prev, chunkBytes)
	}
	_, end, _ := chunkSpan(s.view(prev))
	l.insertAt(spot{prev, end}, entry)
}

// insertAfter adds an entry after the entries of a chunk without room.
func (l *List) insertAfter(r blobRef, entry []byte) {
	s := l.store
	next := chunkNext(s.view(r))
	if next == l.Ref.blob() {
		next = s.newChunk(r, chunkHead)
	} else if start, _, _ := chunkSpan(s.view(next)); start-len(entry) < chunkHead && !s.hasRoom(next, len(entry)) {
		next = s.newChunk(r, chunkHead)
	}
	start, _, _ := chunkSpan(s.view(next))
	l.insertAt(spot{next, start}, entry)
}

// splitChunk moves the entries from a spot on to a new chunk after theirs.
func (s *Store) splitChunk(p spot) {
	_, end, _ := chunkSpan(s.view(p.blob))
	start := chunkBytes - (end - p.at)
	next := s.newChunk(p.blob, start)
	b, from := s.edit(next), s.edit(p.blob)
	moved := 0
	for at := p.at; at < end; at = entryEnd(from, at) {
		moved++
	}
	copy(b[start:], from[p.at:end])
	setChunkSpan(b, start, chunkBytes, moved)
	first, _, count := chunkSpan(from)
	setChunkSpan(from, first, p.at, count-moved)
}

// cutChunk removes an entry of n bytes from a chunk. The list must not become empty.
func (l *List) cutChunk(p spot, n int) {
	s := l.store
	b := s.edit(p.blob)
	start, end, count := chunkSpan(b)
	switch {
	case count == 1:
		l.dropChunk(p.blob)
		return
	case p.at == start:
		start += n
	default:
		copy(b[p.at:], b[p.at+n:end])
		end -= n
	}
	setChunkSpan(b, start, end, count-1)
	next := chunkNext(b)
	if next != l.Ref.blob() {
		l.merge(p.blob, next)
	} else if p.blob != l.Ref.blob() {
		l.merge(chunkPrev(b), p.blob)
	}
}

// merge moves the entries of the second of two neighbours to the first if there is room.
func (l *List) merge(first, second blobRef) {
	s := l.store
	from := s.view(second)
	start, end, count := chunkSpan(from)
	if !s.hasRoom(first, end-start) {
		return
	}
	b := s.edit(first)
	moveEntries(b, chunkHead)
	head, tail, n := chunkSpan(b)
	copy(b[tail:], from[start:end])
	setChunkSpan(b, head, tail+end-start, n+count)
	l.dropChunk(second)
}

// trimChunks removes entries at the start and at the end. Some must be left.
func (l *List) trimChunks(front, back int) {
	s := l.store
	for front > 0 {
		r := l.Ref.blob()
		b := s.view(r)
		start, end, count := chunkSpan(b)
		at := start
		for i := 0; i < front && i < count; i++ {
			at = entryEnd(b, at)
		}
		s.releaseEntries(b[start:at])
		if front -= count; front >= 0 {
			l.dropChunk(r)
		} else {
			setChunkSpan(s.edit(r), at, end, -front)
		}
	}
	for back > 0 {
		r := chunkPrev(s.view(l.Ref.blob()))
		b := s.view(r)
		start, end, count := chunkSpan(b)
		at := end
		for i := 0; i < back && i < count; i++ {
			at = entryStart(b, at)
		}
		s.releaseEntries(b[at:end])
		if back -= count; back >= 0 {
			l.dropChunk(r)
		} else {
			setChunkSpan(s.edit(r), start, at, -back)
		}
	}
}

// cutChunks removes entries from all chunks. Some must be left.
func (l *List) cutChunks(c *cutting) {
	s := l.store
	for r, last := l.Ref.blob(), false; !last && c.left > 0; {
		next := chunkNext(s.view(r))
		last = next == l.Ref.blob()
		start, end, count := chunkSpan(s.view(r))
		c.count = 0
		kept := s.cutEqual(c, s.edit(r), start, end)
		switch prev := chunkPrev(s.view(r)); {
		case c.count == count:
			l.dropChunk(r)
		case c.count > 0:
			setChunkSpan(s.edit(r), start, kept, count-c.count)
			if r != l.Ref.blob() {
				l.merge(prev, r)
			}
		}
		r = next
	}
}

// cutEqual removes entries between two offsets, and returns the end of those kept.
func (s *Store) cutEqual(c *cutting, b []byte, start, end int) (kept int) {
	kept = start
	for at := start; at < end; {
		next := entryEnd(b, at)
		e := s.element(b[at:])
		switch {
		case c.left == 0 || !e.Equal(c.equal):
		case c.skip > 0:
			c.skip--
		default:
			c.left--
			c.count++
			c.size += redisBytes(e)
			s.releaseElement(e)
			at = next
			continue
		}
		kept += copy(b[kept:], b[at:next])
		at = next
	}
	return kept
}
