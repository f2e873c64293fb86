package engine

// slab is the memory of the pages' buffers of a shard: for each size an array of
// cells, in chunks that all sizes can use. No array has holes, since a buffer is
// known to its page alone and can be moved: the last one moves to the cell that
// becomes free. So memory is lost in the last chunk of each size only, however
// the pages grow and shrink, and the allocator of Go sees chunks of one size.
//
// Cost: a copy of one buffer for a cell that is given back.
type slab struct {
	classes [len(pageSizes)]slabClass
	spare   [][]byte // chunks that no size uses
}

type slabClass struct {
	chunks [][]byte
	owners []*page // of the cells, in order
}

const (
	slabChunkBytes = 64 << 10
	maxSpare       = 4
)

// cell is the n-th cell of a size.
func (b *slab) cell(class, n int) []byte {
	size := pageSizes[class]
	per := slabChunkBytes / size
	at := n % per * size
	return b.classes[class].chunks[n/per][at : at+size : at+size]
}

// give gives a page that has no buffer one of a size.
func (b *slab) give(p *page, class int) {
	c := &b.classes[class]
	if len(c.owners) == len(c.chunks)*(slabChunkBytes/pageSizes[class]) {
		c.chunks = append(c.chunks, b.chunk())
	}
	p.class, p.cell = class, len(c.owners)
	c.owners = append(c.owners, p)
	p.reset(b.cell(class, p.cell))
}

func (b *slab) chunk() []byte {
	n := len(b.spare)
	if n == 0 {
		return make([]byte, slabChunkBytes)
	}
	chunk := b.spare[n-1]
	b.spare = b.spare[:n-1]
	return chunk
}

// take takes the buffer of a page away, if it has one.
func (b *slab) take(p *page) {
	if len(p.buf) == 0 {
		return
	}
	c := &b.classes[p.class]
	last := len(c.owners) - 1
	if moved := c.owners[last]; moved != p {
		copy(p.buf, moved.buf)
		moved.buf, moved.cell = p.buf, p.cell
		c.owners[p.cell] = moved
	}
	c.owners[last] = nil
	c.owners = c.owners[:last]
	p.reset(nil)
	if per := slabChunkBytes / pageSizes[p.class]; last == (len(c.chunks)-1)*per {
		if len(b.spare) < maxSpare {
			b.spare = append(b.spare, c.chunks[len(c.chunks)-1])
		}
		c.chunks[len(c.chunks)-1] = nil
		c.chunks = c.chunks[:len(c.chunks)-1]
	}
}
