package engine

// chunks is memory for the entries of the sliding logs of a shard: blocks of words in a
// few sizes, allocated and released by number, in pages that the garbage collector does
// not scan. Cost: O(1) for both.
type chunks struct {
	classes [len(chunkWords)]chunkClass
	bytes   int64 // of all pages
	changes uint64
	settled settledLog
}

// nextChange returns the number of a new change to a log, so that no two states are
// equal.
func (k *chunks) nextChange() uint64 {
	k.changes++
	return k.changes
}

// maxChange bounds change numbers: it can not be reached by counting, and sums do not
// overflow.
const maxChange = 1 << 62

// chunkWords are the sizes of the blocks: for 3, 15, 63 and 255 entries of a log. They are
// 1 << sizeBits(class).
var chunkWords = [...]int{8, 32, 128, 512}

// sizeBits returns the binary logarithm of the size of a block.
func sizeBits(class int) uint { return uint(3 + 2*class) }

const (
	chunkPageBits  = 12
	chunkPageWords = 1 << chunkPageBits
	chunkPageBytes = chunkPageWords * 8
	largestChunk   = len(chunkWords) - 1
	chunkClassBits = 2
)

type chunkClass struct {
	pages [][]uint64
	free  chunkRef // first free block; its first word is the next free block
	fresh uint32   // blocks of the last page that were never used
	used  uint32
}

// A chunkRef identifies a block: its number from 1 on, and its class in the low bits. 0
// is no block.
type chunkRef uint32

func (r chunkRef) class() int { return int(r & (1<<chunkClassBits - 1)) }

// words returns the block. It divides by shifts, because each decision calls it several times.
func (k *chunks) words(r chunkRef) []uint64 {
	var (
		class = r.class()
		bits  = sizeBits(class) & 31
		n     = uint(r>>chunkClassBits) - 1
		at    = n << bits & (chunkPageWords - 1)
		size  = uint(1) << bits
	)
	return k.classes[class].pages[n>>(chunkPageBits-bits)][at : at+size : at+size]
}

// needsPage reports whether alloc of a class would allocate a page.
func (k *chunks) needsPage(class int) bool {
	c := &k.classes[class]
	return c.free == 0 && c.fresh == 0
}

// alloc returns a block of undefined content.
func (k *chunks) alloc(class int) chunkRef {
	c := &k.classes[class]
	c.used++
	if r := c.free; r != 0 {
		c.free = chunkRef(k.words(r)[0])
		return r
	}
	per := uint32(chunkPageWords / chunkWords[class])
	if c.fresh == 0 {
		c.pages = append(c.pages, make([]uint64, chunkPageWords))
		c.fresh = per
		k.bytes += chunkPageBytes
	}
	number := uint32(len(c.pages))*per - c.fresh + 1
	c.fresh--
	return chunkRef(number<<chunkClassBits | uint32(class))
}

// release frees a block.
func (k *chunks) release(r chunkRef) {
	c := &k.classes[r.class()]
	c.used--
	k.words(r)[0] = uint64(c.free)
	c.free = r
}

// trim releases the pages of each class without blocks in use.
func (k *chunks) trim() {
	for i := range k.classes {
		if c := &k.classes[i]; c.used == 0 && len(c.pages) > 0 {
			k.bytes -= int64(len(c.pages)) * chunkPageBytes
			*c = chunkClass{}
		}
	}
}
