package engine

// slab is the memory of the pages of a shard. The lists of its chunks are its only
// pointers, so that the garbage collector has almost no work for a table of any size.
//
// The buffers of a size form an array of cells, in chunks that all sizes can use. No array
// has holes: a buffer is known only to its page and can be moved, so the last buffer moves
// to the cell that becomes free. Memory is therefore wasted only in the last chunk of each
// size, however the pages grow and shrink, and Go's allocator sees chunks of one size. The
// exception is the first chunk of a size, which starts small and doubles, because a small
// table would otherwise consist mostly of empty chunks. While it is small it is kept
// without cells in use, so that a page that grows and shrinks allocates nothing.
//
// Heads are never moved nor released; heads of dropped pages are reused.
//
// Cost: one copy of a buffer to free a cell; one copy of the first chunk to allocate a
// cell, while that chunk doubles.
type slab struct {
	heads       []*[headChunk]pageHead // by number
	fresh       pageNumber             // the first that was never used
	free        []pageNumber           // of dropped pages
	classes     [len(pageSizes)]slabClass
	spareChunks [][]byte // whole chunks that no size uses
	bytes       int64    // of heads and buffers
}

type slabClass struct {
	chunks [][]byte
	owners []pageNumber // of the cells, in order
}

const (
	slabChunkBytes  = 64 << 10
	cellUnit        = 128     // divides all sizes
	firstChunkBytes = 1 << 10 // at least
	keptChunkBytes  = 8 << 10 // of a first chunk without cells in use
	maxSpareChunks  = 4
	headChunk       = 64 // pages, a power of two
	// pageHeadBytes is the memory of a page besides its buffer: its head, and its number
	// among the owners.
	pageHeadBytes   = 32 + pageNumberBytes
	pageNumberBytes = 4
)

// page returns the page of a number. It is valid until any page is resized or dropped,
// because that moves buffers of other pages too.
func (b *slab) page(n pageNumber) page { return b.open(b.head(n)) }

// head returns the head of the page of a number.
func (b *slab) head(n pageNumber) *pageHead { return &b.heads[n/headChunk][n%headChunk] }

// pages returns the number of pages.
func (b *slab) pages() int { return int(b.fresh) - len(b.free) }

// open returns the page of a head. Heads are never moved.
func (b *slab) open(p *pageHead) page { return page{p, b.buffer(p)} }

// buffer returns the buffer of a page, nil if it has no buffer.
func (b *slab) buffer(p *pageHead) []byte {
	if p.class == 0 {
		return nil
	}
	at, size := int(p.at)*cellUnit, pageSizes[p.class]
	return b.classes[p.class].chunks[p.chunk][at : at+size : at+size]
}

// cell returns the index of the page's buffer among the cells of its class.
func (p *pageHead) cell() int {
	size := pageSizes[p.class]
	return int(p.chunk)*(slabChunkBytes/size) + int(p.at)*cellUnit/size
}

// add creates a page without a buffer.
func (b *slab) add(depth uint8, epoch uint32) pageNumber {
	n := b.fresh
	if last := len(b.free) - 1; last >= 0 {
		n = b.free[last]
		b.free = b.free[:last]
	} else {
		if n%headChunk == 0 {
			b.heads = append(b.heads, new([headChunk]pageHead))
		}
		b.fresh++
		b.bytes += pageHeadBytes
	}
	b.heads[n/headChunk][n%headChunk] = pageHead{number: n, depth: depth, epoch: epoch, nextExpiry: latest}
	return n
}

// drop deletes a page.
func (b *slab) drop(p page) {
	b.freeBuffer(p.pageHead)
	b.free = append(b.free, p.number)
}

// resize empties a page, gives it a buffer of a class, and returns the new value.
func (b *slab) resize(p page, class int) page {
	if int(p.class) != class {
		b.freeBuffer(p.pageHead)
		b.allocBuffer(p.pageHead, class)
	}
	p.count, p.low, p.dead = 0, uint32(pageSizes[class]), 0
	return b.page(p.number)
}

// allocBuffer allocates a buffer of a class for a page without a buffer.
func (b *slab) allocBuffer(p *pageHead, class int) {
	p.class = uint8(class)
	if class == 0 {
		return
	}
	c, size := &b.classes[class], pageSizes[class]
	if len(c.owners) == c.cells(size) {
		b.grow(c, size)
	}
	n, per := len(c.owners), slabChunkBytes/size
	p.chunk, p.at = uint32(n/per), uint16(n%per*size/cellUnit)
	c.owners = append(c.owners, p.number)
	b.bytes += int64(size)
}

// cells returns the number of cells in the chunks of a class.
func (c *slabClass) cells(size int) int {
	last := len(c.chunks) - 1
	if last < 0 {
		return 0
	}
	return last*(slabChunkBytes/size) + len(c.chunks[last])/size
}

// grow adds cells to a class of a size. Requires: all cells of the class are in use.
func (b *slab) grow(c *slabClass, size int) {
	switch {
	case len(c.chunks) == 0:
		first := firstChunkBytes
		for first < size {
			first *= 2
		}
		c.chunks = append(c.chunks, b.chunk(first))
	case len(c.chunks[0]) < slabChunkBytes:
		twice := b.chunk(2 * len(c.chunks[0]))
		copy(twice, c.chunks[0])
		c.chunks[0] = twice
	default:
		c.chunks = append(c.chunks, b.chunk(slabChunkBytes))
	}
}

func (b *slab) chunk(bytes int) []byte {
	last := len(b.spareChunks) - 1
	if bytes < slabChunkBytes || last < 0 {
		return make([]byte, bytes)
	}
	chunk := b.spareChunks[last]
	b.spareChunks = b.spareChunks[:last]
	return chunk
}

// freeBuffer frees the buffer of a page, if it has a buffer.
func (b *slab) freeBuffer(p *pageHead) {
	if p.class == 0 {
		return
	}
	c, size := &b.classes[p.class], pageSizes[p.class]
	last := len(c.owners) - 1
	if n := c.owners[last]; n != p.number {
		moved := b.page(n)
		copy(b.buffer(p), moved.buf)
		moved.chunk, moved.at = p.chunk, p.at
		c.owners[p.cell()] = n
	}
	c.owners = c.owners[:last]
	p.class = 0
	b.bytes -= int64(size)
	if end := len(c.chunks) - 1; last == end*(slabChunkBytes/size) && len(c.chunks[end]) > keptChunkBytes {
		if len(c.chunks[end]) == slabChunkBytes && len(b.spareChunks) < maxSpareChunks {
			b.spareChunks = append(b.spareChunks, c.chunks[end])
		}
		c.chunks[end] = nil
		c.chunks = c.chunks[:end]
	}
}
