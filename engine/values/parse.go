package values

import (
	"encoding/binary"
	"math"

	"limitsrv/engine/values/numbers"
)

// Parse adds a part, written by Append, to the contents of h, which has the parts before
// it, or is empty for the first. It returns the bytes after the part, and whether further
// parts follow. Any bytes may be given. Change is not in the parts, and stays that in h.
// After an error h is freed, and the [Head] returned is empty.
//
// Cost: the memory used is at most proportional to the bytes of the parts.
func (s *Store) Parse(h Head, part []byte) (head Head, rest []byte, more bool, err error) {
	p := parser{store: s, head: h}
	if p.parse(part) {
		return p.head, p.bytes, p.more, nil
	}
	s.Free(p.head)
	return Head{}, nil, false, ErrDamaged
}

// A parser reads a part.
type parser struct {
	store *Store
	head  Head
	bytes []byte // the rest
	count int    // of bytes or elements in the part
	more  bool
	// The last element: its stored form (empty if it is a text of its own), and its text,
	// valid until the next.
	stored, text []byte
}

func (p *parser) parse(part []byte) bool {
	if len(part) < partHead {
		return false
	}
	var (
		f     = form(part[0] &^ moreParts)
		count = binary.LittleEndian.Uint32(part[1:])
	)
	p.more, p.bytes = part[0]&moreParts != 0, part[partHead:]
	if f == noForm || f >= formsEnd || uint64(count) > uint64(len(p.bytes)) {
		return false
	}
	if p.head.Ref != 0 && (p.head.Ref.form() != f || !f.inParts()) || p.more && !f.inParts() {
		return false
	}
	p.count = int(count)
	if f == stringWhole || f == stringChanged {
		return p.string(f)
	}
	if count == 0 || p.head.Count+p.count > MaxCount {
		return false
	}
	switch f {
	case hashPacked, setPacked, sortedPacked:
		return p.packed(f)
	case setInts:
		return p.ints()
	case listPacked, listChunks:
		return p.list(f)
	}
	return p.tree(f)
}

// inParts reports whether a value of the form may have more than one part.
func (f form) inParts() bool {
	switch f {
	case stringWhole, stringChanged, hashTree, setTree, sortedTree, listChunks:
		return true
	}
	return false
}

func (p *parser) string(f form) bool {
	n, to := p.head.Count, p.head.Count+p.count
	if to > MaxText || p.count == 0 && (n > 0 || p.more) {
		return false
	}
	blob := p.store.growText(p.head.Ref.blob(), n, to)
	p.store.writeText(blob, to, n, p.bytes[:p.count])
	p.head.Ref, p.head.Count = makeRef(f, to, blob), to
	p.bytes = p.bytes[p.count:]
	return true
}

// element reads an element.
func (p *parser) element() bool {
	b := p.bytes
	if len(b) == 0 {
		return false
	}
	tag, s := int(b[0]), p.store
	if tag == tagLong {
		if len(b) < longPartHead {
			return false
		}
		n := int(binary.LittleEndian.Uint32(b[1:]))
		if n <= maxInline || n > MaxText || n > len(b)-longPartHead {
			return false
		}
		p.stored = nil
		p.text, p.bytes = b[longPartHead:longPartHead+n], b[longPartHead+n:]
		return true
	}
	if tag == tagInt || tag > tagInt+8 || tag >= tagText && len(b) < 2 {
		return false
	}
	end := elementEnd(b, 0)
	if end > len(b) {
		return false
	}
	p.stored, p.bytes = b[:end], b[end:]
	p.text = s.element(p.stored).text
	if tag > tagInt {
		s.digits = s.element(p.stored).Append(s.digits[:0])
		p.text = s.digits
	}
	if len(p.text) > maxInline {
		return false
	}
	s.scratch = appendInline(s.scratch[:0], p.text)
	return string(s.scratch) == string(p.stored)
}

// score reads a score.
func (p *parser) score() (x float64, ok bool) {
	b := p.bytes
	if len(b) == 0 || b[0] == 0 || b[0] > scoreDouble || len(b) < 1+int(b[0]) {
		return 0, false
	}
	x, end := readScore(b, 0)
	p.bytes = b[end:]
	s := p.store
	s.scratch = appendScore(s.scratch[:0], x)
	return x, !math.IsNaN(x) && string(s.scratch) == string(b[:end])
}

// packed reads a packed hash, set or sorted set.
func (p *parser) packed(f form) bool {
	if p.count > maxPacked {
		return false
	}
	var (
		s, whole = p.store, p.bytes
		score    float64 // of the member before
		before   []byte  // that member
	)
	for i := range p.count {
		done := whole[:len(whole)-len(p.bytes)]
		x, ok := 0.0, true
		if f == sortedPacked {
			x, ok = p.score()
		}
		if !ok || !p.element() || !isShort(p.text) || f.hasElement(done, p.stored) {
			return false
		}
		if f == sortedPacked && i > 0 && (x < score || x == score && s.element(before).compare(s.element(p.stored)) > 0) {
			return false
		}
		score, before = x, p.stored
		if f == hashPacked && (!p.element() || !isShort(p.text)) {
			return false
		}
	}
	p.head.Ref = s.splice(makeRef(f, 0, 0), 0, 0, whole[:len(whole)-len(p.bytes)])
	p.head.Count = p.count
	return true
}

// hasElement reports whether a packed sequence has a field or member.
func (f form) hasElement(b, element []byte) bool {
	switch f {
	case hashPacked:
		return findElement(b, element, 2) >= 0
	case setPacked:
		return findElement(b, element, 1) >= 0
	}
	for at := 0; at < len(b); at = pairEnd(b, at) {
		if member := b[at+1+int(b[at]):]; string(member[:elementEnd(member, 0)]) == string(element) {
			return true
		}
	}
	return false
}

// ints reads a set of integers.
func (p *parser) ints() bool {
	t := p.store.Set(Head{})
	last, ok := int64(0), p.count <= maxInts
	for i := 0; ok && i < p.count; i++ {
		var n int64
		if ok = p.element(); ok {
			n, ok = numbers.ParseInt(p.text)
		}
		if ok = ok && (i == 0 || n > last); ok {
			last = n
			t.addInt(n)
		}
	}
	p.head.Ref, p.head.Count = t.Ref, t.Count
	return ok
}

// list reads entries of a list.
func (p *parser) list(f form) (ok bool) {
	l := p.store.List(p.head)
	if f == listChunks && l.Ref == 0 {
		l.unpack()
	}
	for range p.count {
		if ok = p.element(); !ok {
			break
		}
		l.insert(l.Count, p.store.encodeListEntry(p.text))
	}
	p.head = l.Head
	return ok && p.head.Ref.form() == f
}

// tree reads elements of a large hash, set or sorted set.
func (p *parser) tree(f form) bool {
	if p.head.Ref == 0 {
		p.head.Ref = makeRef(f, 0, 0)
	}
	for range p.count {
		var ok bool
		switch f {
		case hashTree:
			ok = p.field()
		case setTree:
			ok = p.member()
		default:
			ok = p.scored()
		}
		if !ok {
			return false
		}
	}
	return true
}

func (p *parser) field() bool {
	if !p.element() {
		return false
	}
	field := p.text
	var digits [numbers.MaxIntBytes]byte
	if len(field) <= len(digits) {
		field = digits[:copy(digits[:], field)]
	}
	if !p.element() {
		return false
	}
	h := p.store.Hash(p.head)
	added := h.setInTree(field, p.text)
	p.head = h.Head
	return added
}

func (p *parser) member() bool {
	if !p.element() {
		return false
	}
	t := p.store.Set(p.head)
	added := t.addToTree(p.text)
	p.head = t.Head
	return added
}

func (p *parser) scored() bool {
	score, ok := p.score()
	if !ok || !p.element() {
		return false
	}
	z := p.store.SortedSet(p.head)
	if _, _, exists := z.find(p.text); exists {
		return false
	}
	z.insert(p.text, score)
	p.head = z.Head
	return true
}
