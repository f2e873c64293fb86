package engine

// A directory finds the page of a hash. dir has one entry for each value of the first dirDepth
// bits. A page of depth n holds all hashes that share their first n bits, and fills all entries for
// these bits. If a page that fills only one entry must be split, dir is doubled.
//
// Keys that share many bits would double dir far beyond the number of pages. Examples are keys
// aimed at one place, and keys so long that four fill a page. So the number of entries per page is
// bounded. If a page is split beyond dirDepth, its entry becomes a node with two entries, each a
// page or another node, for the values of the next bit. Memory is linear in the pages and in the
// bits that their keys share.
//
// Source: R. Fagin et al., "Extendible hashing", ACM TODS 4(3), 1979.
type directory struct {
	dir      []pageNumber
	dirDepth uint8
	nodes    [][2]pageNumber
	// freeNode is the entry of the first free node; each free node has the entry of the next. 0:
	// no page is free.
	freeNode pageNumber
}

const (
	// below marks an entry that is the index of a node. Node 0 is not used.
	below = pageNumber(1 << 31)
	// dirPerPage bounds the entries per page, and minDir is always allowed. Random hashes of short
	// keys need 4 entries per page.
	dirPerPage = 64
	minDir     = 64
	nodeBytes  = 2 * pageNumberBytes
)

// hashAfter returns the first hash after all hashes that share the first depth bits of h; 0 at the
// end.
func hashAfter(h uint64, depth uint8) uint64 { return (h>>(64-depth) + 1) << (64 - depth) }

// bytes returns the memory of the directory in bytes.
func (d *directory) bytes() int64 {
	return int64(len(d.dir))*pageNumberBytes + int64(len(d.nodes))*nodeBytes
}

// numberOf returns the page number for a hash.
func (d *directory) numberOf(h uint64) pageNumber {
	n := d.dir[h>>(64-d.dirDepth)]
	if n&below != 0 {
		return d.follow(n, h)
	}
	return n
}

// follow returns the page number for h, starting at the node n of its entry in dir.
func (d *directory) follow(n pageNumber, h uint64) pageNumber {
	for h <<= d.dirDepth; n&below != 0; h <<= 1 {
		n = d.nodes[n&^below][h>>63]
	}
	return n
}

// entry returns a pointer to the entry for the hashes that share their first depth bits with h.
// Requires: depth >= dirDepth, and no page of these hashes has a smaller depth.
func (d *directory) entry(h uint64, depth uint8) *pageNumber {
	e := &d.dir[h>>(64-d.dirDepth)]
	for at := d.dirDepth; at < depth; at++ {
		e = &d.nodes[*e&^below][h<<at>>63]
	}
	return e
}

// divide replaces the page of h with two pages of this depth. first must be the number of that
// page.
func (d *directory) divide(h uint64, depth uint8, first, second pageNumber) {
	if depth > d.dirDepth {
		n := d.newNode(first, second)
		*d.entry(h, depth-1) = n
		return
	}
	span := 1 << (d.dirDepth - depth) // entries of each new page
	at := int(h>>(64-d.dirDepth))&^(2*span-1) + span
	for i := range span {
		d.dir[at+i] = second
	}
}

// join replaces the two pages of the hashes that share their first depth bits with h with page n.
func (d *directory) join(h uint64, depth uint8, n pageNumber) {
	if depth >= d.dirDepth {
		e := d.entry(h, depth)
		d.releaseNode(*e)
		*e = n
		return
	}
	span := 1 << (d.dirDepth - depth)
	at := int(h>>(64-d.dirDepth)) &^ (span - 1)
	for i := range span {
		d.dir[at+i] = n
	}
}

// newNode creates a node with two entries, and returns the entry that refers to it.
func (d *directory) newNode(first, second pageNumber) pageNumber {
	n := d.freeNode
	switch {
	case n != 0:
		d.freeNode = d.nodes[n&^below][0]
	case len(d.nodes) == 0:
		d.nodes = make([][2]pageNumber, 2)
		n = 1 | below
	default:
		n = pageNumber(len(d.nodes)) | below
		d.nodes = append(d.nodes, [2]pageNumber{})
	}
	d.nodes[n&^below] = [2]pageNumber{first, second}
	return n
}

func (d *directory) releaseNode(n pageNumber) {
	d.nodes[n&^below] = [2]pageNumber{d.freeNode, 0}
	d.freeNode = n
}

// mayDouble reports whether dir may be doubled when there are this many pages.
func (d *directory) mayDouble(pages int) bool {
	return 2*len(d.dir) <= max(minDir, dirPerPage*pages)
}

// dividing returns the growth of the directory, in bytes, if a page of this depth is split.
func (d *directory) dividing(depth uint8, pages int) int {
	switch {
	case depth < d.dirDepth:
		return 0
	case d.mayDouble(pages):
		return len(d.dir) * pageNumberBytes
	}
	return nodeBytes
}

// double doubles dir. A node that an entry referred to is replaced by its two entries.
func (d *directory) double() {
	dir := make([]pageNumber, 2*len(d.dir))
	for i, n := range d.dir {
		dir[2*i], dir[2*i+1] = n, n
		if n&below != 0 {
			dir[2*i], dir[2*i+1] = d.nodes[n&^below][0], d.nodes[n&^below][1]
			d.releaseNode(n)
		}
	}
	d.dir = dir
	d.dirDepth++
}
