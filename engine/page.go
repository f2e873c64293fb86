package engine

import "encoding/binary"

// A page holds the records of the keys with hashes that start with the same bits, in a
// single buffer that the garbage collector does not scan:
//
//	slot slot slot ...  free  ... record record record
//
// A slot is four bytes: the 16 bits of the hash after those that all keys of the page
// share, then the offset of the record. Slots are sorted, so that a page, and the pages in
// order, are sorted by hash, and a key is found by interpolation: about one cache line of
// slots and one cache line of the record.
//
// A record is the number of the parameters with the database in its upper 4 bits (4
// bytes), the words of the state, the length of the key (1 byte, or 2 from 128 on), and
// the key.
//
// A page value joins a head with its buffer in the slab. It is valid only until a page is
// resized or dropped: see slab.page.
type page struct {
	*pageHead
	buf []byte
}

type pageHead struct {
	low    uint32 // offset of the first record
	epoch  uint32 // of the shard when the page was last preserved, or created
	number pageNumber
	chunk  uint32 // index of the slab's chunk, within the class, that has the buffer
	at     uint16 // offset of the buffer in the chunk, in cellUnits
	count  uint16 // number of records
	dead   uint16 // bytes of removed records
	depth  uint8  // number of bits that the hashes share
	class  uint8  // of the buffer, 0 without a buffer
	// nextExpiry is a lower bound on the first time that purging this page can free memory.
	nextExpiry Instant
}

// A pageNumber is the number of a page in its shard.
type pageNumber uint32

const (
	slotBytes  = 4
	paramBytes = 4
)

// pageSizes are the sizes of a page's buffer by class. A page that would outgrow
// pageSizes[splitSize] is split; larger sizes are for keys so long that a few fill a
// page. The steps below are small, because unused space of a buffer is wasted.
var pageSizes = [...]int{
	0, 128, 256, 384, 512, 768, 1024, 1280, 1536, 1792,
	2048, 2304, 2560, 2816, 3072, 3328, 3584, 3840, 4096,
	8192, 16384, 32768, 65536,
}

const (
	splitSize = 18
	// maxPrefix bounds the depth of a page: the number of bits that its keys share, including the
	// bits of the shard's number. Because the hash is secret, no page gets that deep: 64 keys of
	// maximum length would have to share all these bits. The other bits number the parts of a page
	// in a Snapshot.
	maxPrefix = 52
)

// classFor returns the class of the smallest size for n bytes. Requires: such a class
// exists.
func classFor(n int) int {
	class := 0
	for pageSizes[class] < n {
		class++
	}
	return class
}

// tag returns the 16 bits of a hash after the first depth bits.
func tag(h uint64, depth uint8) uint16 { return uint16(h << depth >> 48) }

// slots returns the number of slots: each record has a slot.
func (p *pageHead) slots() int { return int(p.count) }

func (p page) slot(i int) uint32 { return binary.LittleEndian.Uint32(p.buf[i*slotBytes:]) }

func (p page) setSlot(i int, tag uint16, offset int) {
	binary.LittleEndian.PutUint32(p.buf[i*slotBytes:], uint32(tag)<<16|uint32(offset))
}

func (p page) tagAt(i int) uint16 { return uint16(p.slot(i) >> 16) }

func (p page) offset(i int) int { return int(p.slot(i) & 0xffff) }

// guess returns the slot of a tag if the tags were spread evenly. Requires: there are slots.
func (p page) guess(t uint16) int { return int(t) * int(p.count) >> 16 }

// seek returns the first slot with a tag not below t.
func (p page) seek(t uint16) int {
	n := int(p.count)
	i := p.guess(t)
	for i > 0 && p.tagAt(i-1) >= t {
		i--
	}
	for i < n && p.tagAt(i) < t {
		i++
	}
	return i
}

// param returns the number of the parameters of the record at offset at.
func (p page) param(at int) paramID { return p.head(at).param() }

// head returns the start of the record at offset at.
func (p page) head(at int) recordHead {
	return recordHead(binary.LittleEndian.Uint32(p.buf[at:]))
}

// A recordHead is the number of the parameters of a record and its database.
type recordHead uint32

const paramBitsOfHead = 28

func headOf(id paramID, db uint8) recordHead { return recordHead(id) | recordHead(db)<<paramBitsOfHead }

func (h recordHead) param() paramID { return paramID(h & (1<<paramBitsOfHead - 1)) }

func (h recordHead) db() uint8 { return uint8(h >> paramBitsOfHead) }

// load reads the state, of some words, from the record at offset at.
func (p page) load(at, words int, s *state) {
	at += paramBytes
	for i := range words {
		s[i] = binary.LittleEndian.Uint64(p.buf[at+i*wordBytes:])
	}
}

// store writes the head and the state of the record at offset at.
func (p page) store(at int, head recordHead, words int, s *state) {
	binary.LittleEndian.PutUint32(p.buf[at:], uint32(head))
	at += paramBytes
	for i := range words {
		binary.LittleEndian.PutUint64(p.buf[at+i*wordBytes:], s[i])
	}
}

// key returns the key, in place, of the record at offset at with some words of state.
func (p page) key(at, words int) []byte {
	at += paramBytes + words*wordBytes
	n := int(p.buf[at])
	at++
	if n >= 128 {
		n = n&127<<8 | int(p.buf[at])
		at++
	}
	return p.buf[at : at+n : at+n]
}

// end returns the end of the record at offset at with some words of state.
func (p page) end(at, words int) int {
	at += paramBytes + words*wordBytes
	n := int(p.buf[at])
	if n >= 128 {
		return at + 2 + (n&127<<8 | int(p.buf[at+1]))
	}
	return at + 1 + n
}

func recordBytes(words, key int) int {
	n := paramBytes + words*wordBytes + 1 + key
	if key >= 128 {
		n++
	}
	return n
}

// fits reports whether a record can be added without moving other records.
func (p page) fits(record int) bool {
	return (p.slots()+1)*slotBytes+record <= int(p.low)
}

// live returns the bytes that slots and records need.
func (p page) live() int { return p.slots()*slotBytes + len(p.buf) - int(p.low) - int(p.dead) }

// add inserts a record, which must fit, after slot i-1 and returns its offset. The caller
// must store the state.
func (p page) add(i int, t uint16, words int, key []byte) int {
	at := int(p.low) - recordBytes(words, len(key))
	copy(p.buf[(i+1)*slotBytes:], p.buf[i*slotBytes:p.slots()*slotBytes])
	p.setSlot(i, t, at)
	p.count++
	p.low = uint32(at)
	k := at + paramBytes + words*wordBytes
	if n := len(key); n >= 128 {
		p.buf[k] = 128 | byte(n>>8)
		p.buf[k+1] = byte(n)
		k += 2
	} else {
		p.buf[k] = byte(n)
		k++
	}
	copy(p.buf[k:], key)
	return at
}

// remove deletes slot i. The bytes of its record are dead until the page is repacked.
func (p page) remove(i, record int) {
	copy(p.buf[i*slotBytes:], p.buf[(i+1)*slotBytes:p.slots()*slotBytes])
	p.count--
	p.dead += uint16(record)
}

// copyRecord adds a copy of the record of length n at offset from of another page, with
// the tag t, in order.
func (p page) copyRecord(t uint16, q page, from, n int) {
	i := p.slots()
	for i > 0 && p.tagAt(i-1) > t {
		i--
	}
	at := int(p.low) - n
	copy(p.buf[(i+1)*slotBytes:], p.buf[i*slotBytes:p.slots()*slotBytes])
	p.setSlot(i, t, at)
	p.count++
	p.low = uint32(at)
	copy(p.buf[at:], q.buf[from:from+n])
}
