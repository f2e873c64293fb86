package values

// sampled is the number of nodes or chunks of which Usage knows the memory.
const sampled = 64

// Usage returns the memory of a value: all of a small one; of a large one, an estimate
// from some of its nodes or chunks.
func (s *Store) Usage(h Head) (bytes int64) {
	r := h.Ref
	if r.blob() == 0 {
		return 0
	}
	switch f := r.form(); f {
	case stringWhole, stringChanged:
		return s.textBytes(r.blob(), r.length())
	case listPacked:
		return int64(s.capacity(r.blob())) + s.longBytes(s.packed(r)[listHead:], entryEnd)
	case listChunks:
		entries := 0
		for i, at := 0, r.blob(); i < sampled && entries < h.Count; i++ {
			b := s.view(at)
			start, end, n := chunkSpan(b)
			bytes += chunkBytes + s.longBytes(b[start:end], entryEnd)
			entries += n
			at = chunkNext(b)
		}
		return bytes * int64(h.Count) / int64(max(entries, 1))
	case hashNodes, setNodes, sortedNodes:
		nodes := int64(0)
		scan := s.scanFrom(memberOrder, r.blob(), 0, sampled) // the children by hash are the same in all
		for at := scan.next(); at != 0; at = scan.next() {
			b := s.view(at)[nodeElement[f.order()]:]
			end := elementEnd(b, 0)
			if f == hashNodes {
				end = elementEnd(b, end)
			}
			bytes += int64(s.capacity(at)) + s.longBytes(b[:end], elementEnd)
			nodes++
		}
		return bytes * int64(h.Count) / max(nodes, 1)
	}
	return int64(s.capacity(r.blob()))
}

// longBytes returns the memory of long texts among elements, the ends of which are given
// by a function.
func (s *Store) longBytes(b []byte, end func(b []byte, at int) int) (bytes int64) {
	for at := 0; at < len(b); at = end(b, at) {
		if b[at] == tagLong {
			e := s.element(b[at:])
			bytes += s.textBytes(e.blob, int(e.n))
		}
	}
	return bytes
}
