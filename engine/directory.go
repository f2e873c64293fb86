package engine

// A directory finds the page of a hash: dir has an entry for each value of the first dirDepth bits,
// and a page fills as many entries as there are values of the bits that its keys do not share. It
// is doubled when a page is to be split that fills one entry.
//
// Keys that share many bits would double it far beyond the number of pages: keys aimed at one place,
// or keys so long that four fill a page. So it has a bounded number of entries for each page. A page
// that is split beyond dirDepth has a node instead of an entry, with the two pages, or nodes, for
// the values of the next bit. Memory is linear in the pages and in the bits that their keys share.
//
// Source: R. Fagin et al., "Extendible hashing", ACM TODS 4(3), 1979.
type directory struct {
	dir      []pageNumber
	dirDepth uint8
	nodes    [][2]pageNumber
	freeNode pageNumber // the first of the free nodes, as below; the next is in each. 0: none
}

const (
	// below marks an entry that is the number of a node. The first node is never used.
	below = pageNumber(1 << 31)
	// dirPerPage bounds the entries for each page, and minDir those of any directory. Random hashes
	// of short keys need 4 entries for a page.
	dirPerPage = 64
	minDir     = 64
	nodeBytes  = 2 * pageNumberBytes
)

// hashAfter returns the first hash after those that share its first depth bits, 0 at the end.
func hashAfter(h uint64, depth uint8) uint64 { return (h>>(64-depth) + 1) << (64 - depth) }

// bytes returns the memory of the directory.
func (d *directory) bytes() int64 {
	return int64(len(d.dir))*pageNumberBytes + int64(len(d.nodes))*nodeBytes
}

// numberOf returns the number of the page of a hash.
func (d *directory) numberOf(h uint64) pageNumber {
	n := d.dir[h>>(64-d.dirDepth)]
	if n&below != 0 {
		return d.follow(n, h)
	}
	return n
}

// follow returns the number of the page of a hash below the node in its entry.
func (d *directory) follow(n pageNumber, h uint64) pageNumber {
	for h <<= d.dirDepth; n&below != 0; h <<= 1 {
		n = d.nodes[n&^below][h>>63]
	}
	return n
}

// entry returns the place of the number of the page, or node, of the hashes that share their first
// depth bits with h. Requires: depth is at least dirDepth, and no page there has less.
func (d *directory) entry(h uint64, depth uint8) *pageNumber {
	e := &d.dir[h>>(64-d.dirDepth)]
	for at := d.dirDepth; at < depth; at++ {
		e = &d.nodes[*e&^below][h<<at>>63]
	}
	return e
}

// divide makes the page of h two pages, of depth bits. The first keeps the number that the page
// had.
func (d *directory) divide(h uint64, depth uint8, first, second pageNumber) {
	if depth > d.dirDepth {
		n := d.newNode(first, second)
		*d.entry(h, depth-1) = n
		return
	}
	span := 1 << (d.dirDepth - depth) // entries of a half
	at := int(h>>(64-d.dirDepth))&^(2*span-1) + span
	for i := range span {
		d.dir[at+i] = second
	}
}

// join makes the two pages of the hashes that share their first depth bits with h one page.
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

// newNode returns the entry of a node with two entries.
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

// mayDouble reports whether the directory may be doubled for so many pages.
func (d *directory) mayDouble(pages int) bool {
	return 2*len(d.dir) <= max(minDir, dirPerPage*pages)
}

// dividing returns the memory by which the directory grows if a page of so many bits is split.
func (d *directory) dividing(depth uint8, pages int) int {
	switch {
	case depth < d.dirDepth:
		return 0
	case d.mayDouble(pages):
		return len(d.dir) * pageNumberBytes
	}
	return nodeBytes
}

// double doubles the entries. The nodes of entries become entries.
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
