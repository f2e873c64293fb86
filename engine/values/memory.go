package values

import (
	"slices"
)

// memory holds byte strings of any content, called blobs. A blob is in a slot of a page of
// slots of one size, or, beyond maxSlot, has a page of its own. The garbage collector scans
// only the heads of the pages, in chunks, and no blobs.
//
// A freeze shares all pages and heads with a frozen memory. A page, or a chunk of heads,
// is copied before its first change after the freeze, so that the frozen memory never
// changes and needs no lock.
//
// Cost: alloc and release are O(1). A first change to a page after a freeze copies the page
// and the chunk of its head: 10 KB for pages of slots, at most 34 KB for other pages.
type memory struct {
	dir     []*headChunk
	fresh   pageNumber // the first number that was never used
	unused  pageNumber // first of the released numbers, linked by next
	classes [len(slotSizes)]pageNumber
	spare   [][]byte // buffers of released pages
	pages   int
	bytes   int64 // of all pages, with their heads
	used    int64 // of the slots in use

	epoch  uint32 // number of freezes so far
	shared uint32 // pages with an older epoch are shared with a frozen memory; 0: no pages
	copied int64  // bytes that only the frozen memory uses
}

// A pageNumber is the number of a page from 1 on; 0 is no page.
type pageNumber uint32

// A blobRef identifies a blob: the number of its page, and its slot in the low bits. 0 is
// no blob.
type blobRef uint32

type pageHead struct {
	buf        []byte
	next, prev pageNumber // among the pages of the class with a free slot
	epoch      uint32     // of the memory when buf was last copied, or allocated
	size       uint32     // of a slot
	used       uint16     // slots in use
	fresh      uint16     // slots that were never used, at the end of the page
	free       uint16     // 1 + first free slot; its first two bytes are the next; 0 is no slot
	class      uint8      // index of slotSizes, or aloneClass
}

type headChunk struct {
	epoch uint32
	heads [headChunkPages]pageHead
}

const (
	pageBytes      = 8 << 10
	slotBits       = 9 // of a blobRef
	maxPages       = 1 << (32 - slotBits)
	maxSlot        = 4 << 10
	maxBlob        = 32 << 10
	slotStep       = 8
	headChunkPages = 32
	pageHeadBytes  = 48
	maxSpare       = 4
	aloneClass     = uint8(len(slotSizes))
)

// slotSizes are the sizes of slots by class. From 136 on each is the largest multiple of
// slotStep that fits a number of times into a page.
var slotSizes = [...]uint32{
	16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128,
	136, 144, 152, 160, 168, 176, 184, 192, 208, 224, 240, 256, 288, 320, 352, 384, 448, 512, 584, 680, 744,
	816, 904, 1024, 1168, 1360, 1632, 2048, 2728, 4096,
}

// slotClasses has the class of the smallest slot for n*slotStep bytes at index n.
var slotClasses = func() (classes [maxSlot/slotStep + 1]uint8) {
	class := 0
	for n := range classes {
		if uint32(n*slotStep) > slotSizes[class] {
			class++
		}
		classes[n] = uint8(class)
	}
	return classes
}()

func (r blobRef) page() pageNumber { return pageNumber(r >> slotBits) }

func (r blobRef) slot() int { return int(r & (1<<slotBits - 1)) }

func (m *memory) head(n pageNumber) *pageHead {
	return &m.dir[n/headChunkPages].heads[n%headChunkPages]
}

// view returns all bytes of the blob's slot, for reading only. They are valid until the
// blob changes or is released.
func (m *memory) view(r blobRef) []byte {
	h := m.head(r.page())
	at, size := r.slot()*int(h.size), int(h.size)
	return h.buf[at : at+size : at+size]
}

// edit returns all bytes of the blob's slot, for changes.
func (m *memory) edit(r blobRef) []byte {
	h := m.head(r.page())
	if h.epoch < m.shared {
		h = m.unshare(r.page())
	}
	at, size := r.slot()*int(h.size), int(h.size)
	return h.buf[at : at+size : at+size]
}

// capacity returns the size of the blob's slot.
func (m *memory) capacity(r blobRef) int { return int(m.head(r.page()).size) }

// ownHead returns the head of a page for changes.
func (m *memory) ownHead(n pageNumber) *pageHead {
	c := &m.dir[n/headChunkPages]
	if (*c).epoch < m.shared {
		own := **c
		own.epoch = m.epoch
		*c = &own
	}
	return &(*c).heads[n%headChunkPages]
}

// unshare copies a page that is shared with a frozen memory.
func (m *memory) unshare(n pageNumber) *pageHead {
	h := m.ownHead(n)
	buf := m.buffer(len(h.buf))
	copy(buf, h.buf)
	h.buf, h.epoch = buf, m.epoch
	m.copied += int64(len(buf))
	return h
}

// alloc returns a blob of n bytes or more with undefined content. Requires: n <= maxBlob.
func (m *memory) alloc(n int) blobRef {
	if n > maxSlot {
		return m.allocAlone(n)
	}
	class := slotClasses[(n+slotStep-1)/slotStep]
	number := m.classes[class]
	if number == 0 {
		number = m.addPage(m.buffer(pageBytes), class, slotSizes[class])
		h := m.ownHead(number)
		h.fresh = uint16(pageBytes / h.size)
		m.open(number, h)
	}
	h := m.ownHead(number)
	var slot int
	if h.free != 0 {
		slot = int(h.free) - 1
		at := slot * int(h.size)
		h.free = uint16(h.buf[at]) | uint16(h.buf[at+1])<<8
	} else {
		slot = int(pageBytes/h.size) - int(h.fresh)
		h.fresh--
	}
	h.used++
	m.used += int64(h.size)
	if h.free == 0 && h.fresh == 0 {
		m.close(h)
	}
	return blobRef(uint32(number)<<slotBits | uint32(slot))
}

// allocAlone returns a blob with a page of its own.
func (m *memory) allocAlone(n int) blobRef {
	buf := slices.Grow([]byte(nil), n)
	buf = buf[:cap(buf)]
	number := m.addPage(buf, aloneClass, uint32(len(buf)))
	m.ownHead(number).used = 1
	m.used += int64(len(buf))
	return blobRef(uint32(number) << slotBits)
}

// release frees a blob.
func (m *memory) release(r blobRef) {
	number := r.page()
	h := m.ownHead(number)
	h.used--
	m.used -= int64(h.size)
	if h.used > 0 {
		slot := m.edit(r)
		h = m.head(number)
		slot[0], slot[1] = byte(h.free), byte(h.free>>8)
		if h.free == 0 && h.fresh == 0 {
			m.open(number, h)
		}
		h.free = uint16(r.slot()) + 1
		return
	}
	if h.free != 0 || h.fresh != 0 {
		m.close(h)
	}
	m.dropPage(number, h)
}

// addPage adds a page with a buffer.
func (m *memory) addPage(buf []byte, class uint8, size uint32) pageNumber {
	number := m.unused
	if number != 0 {
		m.unused = m.head(number).next
	} else {
		if m.fresh == 0 {
			m.fresh = 1
		}
		number = m.fresh
		if number == maxPages {
			panic("values: more pages than a store can have; see Full")
		}
		m.fresh++
		if int(number/headChunkPages) == len(m.dir) {
			m.dir = append(m.dir, &headChunk{epoch: m.epoch})
		}
	}
	*m.ownHead(number) = pageHead{buf: buf, epoch: m.epoch, size: size, class: class}
	m.pages++
	m.bytes += int64(len(buf)) + pageHeadBytes
	return number
}

// dropPage releases a page without blobs.
func (m *memory) dropPage(number pageNumber, h *pageHead) {
	m.pages--
	m.bytes -= int64(len(h.buf)) + pageHeadBytes
	switch {
	case h.epoch < m.shared:
		m.copied += int64(len(h.buf))
	case len(h.buf) == pageBytes && len(m.spare) < maxSpare:
		m.spare = append(m.spare, h.buf)
	}
	*h = pageHead{next: m.unused}
	m.unused = number
}

// buffer returns a buffer of undefined content.
func (m *memory) buffer(n int) []byte {
	last := len(m.spare) - 1
	if n != pageBytes || last < 0 {
		return make([]byte, n)
	}
	buf := m.spare[last]
	m.spare = m.spare[:last]
	return buf
}

// open adds a page to those with a free slot.
func (m *memory) open(number pageNumber, h *pageHead) {
	first := &m.classes[h.class]
	h.next, h.prev = *first, 0
	if *first != 0 {
		m.ownHead(*first).prev = number
	}
	*first = number
}

// close removes a page from those with a free slot.
func (m *memory) close(h *pageHead) {
	if h.prev != 0 {
		m.ownHead(h.prev).next = h.next
	} else {
		m.classes[h.class] = h.next
	}
	if h.next != 0 {
		m.ownHead(h.next).prev = h.prev
	}
}

// resize returns a blob for need bytes with the first keep bytes of another, which may
// be the same blob: it is replaced if it is too small, or more than twice too large.
func (m *memory) resize(r blobRef, keep, need int) blobRef {
	if m.fits(r, need) {
		return r
	}
	fresh := m.alloc(need)
	copy(m.edit(fresh), m.view(r)[:keep])
	m.release(r)
	return fresh
}

// fits reports whether a blob is neither too small for n bytes nor far too large.
func (m *memory) fits(r blobRef, n int) bool {
	size := m.capacity(r)
	return n <= size && (size <= 2*n || size <= 2*int(slotSizes[0]))
}

// freeze returns a memory with the present blobs, to be read only, while m may change.
func (m *memory) freeze() memory {
	m.epoch++
	m.shared = m.epoch
	return memory{dir: slices.Clone(m.dir), fresh: m.fresh, pages: m.pages, bytes: m.bytes, used: m.used}
}

// thaw ends the sharing with the memory of the last freeze.
func (m *memory) thaw() { m.shared, m.copied = 0, 0 }
