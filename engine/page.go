package engine

import "encoding/binary"

// A page holds the records of the keys whose hashes start with the same bits,
// in one buffer that the garbage collector does not look into:
//
//	slot slot slot ...  free  ... record record record
//
// A slot is four bytes: the 16 bits of the hash behind those that all keys of the
// page share, then the offset of the record. Slots are sorted, so that a page,
// and the pages in order, come out sorted by hash, and a key is found by
// interpolation: about one cache line of slots and one of record.
//
// A record is the number of the parameters (4 bytes), the words of the state,
// the length of the key (1 byte, or 2 from 128 on), and the key.
//
// A page is a head and a buffer of a slab, put together for as long as it is being
// worked on: see slab.page.
type page struct {
	*pageHead
	buf []byte
}

type pageHead struct {
	low    uint32 // where the records start
	epoch  uint32 // of the shard when the page was last preserved, or made
	number pageNumber
	chunk  uint32 // of the slab's of the class that the buffer is in
	at     uint16 // where it is in there, in cellUnits
	count  uint16 // of records
	dead   uint16 // bytes of removed records
	depth  uint8  // bits that the hashes share
	class  uint8  // of the buffer, 0 if there is none
	// rests is when the page may have something to give: no key of it is at rest before,
	// and until then its buffer is none too large.
	nextExpiry Instant
}

// A pageNumber is the number of a page in its shard.
type pageNumber uint32

const (
	slotBytes  = 4
	paramBytes = 4
	wordBytes  = 8
)

// pageSizes are the sizes of a page's buffer by class. A page that would outgrow
// pageSizes[splitSize] is split; larger ones are for keys so long that a few
// fill a page. The steps before are small, as what a page does not use of its
// buffer is lost.
var pageSizes = [...]int{
	0, 128, 256, 384, 512, 768, 1024, 1280, 1536, 1792,
	2048, 2304, 2560, 2816, 3072, 3328, 3584, 3840, 4096,
	8192, 16384, 32768, 65536,
}

const (
	splitSize = 18
	// maxDepth bounds the bits that keys of one page share. With a secret hash
	// a table of 2^maxDepth pages comes first.
	maxDepth = 32
)

// classFor is the index of the smallest size for n bytes. There is one.
func classFor(n int) int {
	class := 0
	for pageSizes[class] < n {
		class++
	}
	return class
}

// tag is the 16 bits of a hash behind the first depth.
func tag(h uint64, depth uint8) uint16 { return uint16(h << depth >> 48) }

// slots is how many slots there are, one for each record.
func (p *pageHead) slots() int { return int(p.count) }

func (p page) slot(i int) uint32 { return binary.LittleEndian.Uint32(p.buf[i*slotBytes:]) }

func (p page) setSlot(i int, tag uint16, offset int) {
	binary.LittleEndian.PutUint32(p.buf[i*slotBytes:], uint32(tag)<<16|uint32(offset))
}

func (p page) tagAt(i int) uint16 { return uint16(p.slot(i) >> 16) }

func (p page) offset(i int) int { return int(p.slot(i) & 0xffff) }

// seek is the first slot whose tag is not below t.
func (p page) seek(t uint16) int {
	n := int(p.count)
	i := int(t) * n >> 16
	for i > 0 && p.tagAt(i-1) >= t {
		i--
	}
	for i < n && p.tagAt(i) < t {
		i++
	}
	return i
}

// param is the number of the parameters of the record at offset at.
func (p page) param(at int) paramID {
	return paramID(binary.LittleEndian.Uint32(p.buf[at:]))
}

// load reads a state of some words from the record at offset at.
func (p page) load(at, words int, s *state) {
	at += paramBytes
	for i := range words {
		s[i] = binary.LittleEndian.Uint64(p.buf[at+i*wordBytes:])
	}
}

// store writes the parameters and the state of the record at offset at.
func (p page) store(at int, id paramID, words int, s *state) {
	binary.LittleEndian.PutUint32(p.buf[at:], uint32(id))
	at += paramBytes
	for i := range words {
		binary.LittleEndian.PutUint64(p.buf[at+i*wordBytes:], s[i])
	}
}

// key is the key of the record at offset at with some words of state, in place.
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

// end is where the record at offset at with some words of state ends.
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

// fits says whether a record finds room without moving anything.
func (p page) fits(record int) bool {
	return (p.slots()+1)*slotBytes+record <= int(p.low)
}

// live is the bytes that slots and records need.
func (p page) live() int { return p.slots()*slotBytes + len(p.buf) - int(p.low) - int(p.dead) }

// add puts a record that fits behind slot i-1 and returns its offset. The state
// is left to store.
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

// remove takes slot i out. Its record's bytes are dead until the page is packed.
func (p page) remove(i, record int) {
	copy(p.buf[i*slotBytes:], p.buf[(i+1)*slotBytes:p.slots()*slotBytes])
	p.count--
	p.dead += uint16(record)
}

// copyRecord adds the record of length n at offset from of another page with
// the tag t, keeping the order.
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
