package engine

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// replayRows are ops in consecutive memory, so that an op is read from one or two cache lines in
// any order. A row is, little-endian: the hash of the key (8 bytes), the stamp (8), the index of
// the form (4), how the op was decided (1), the length of the key (4), and the key; the key of a
// call may be longer than MaxKeyBytes. A place among rows is an offset in bytes. All rows together
// are shorter than 4 GB.
type replayRows []byte

const (
	rowStamp     = 8
	rowForm      = 16
	rowTaken     = 20
	rowKeyLength = 21
	rowHeadBytes = 25
)

// A rowPlace is the number of rows before a row, and its offset.
type rowPlace struct{ index, at int }

// add appends a row.
func (r replayRows) add(h uint64, stamp Instant, form uint32, key []byte) replayRows {
	order := binary.LittleEndian
	r = order.AppendUint64(r, h)
	r = order.AppendUint64(r, uint64(stamp))
	r = order.AppendUint32(r, form)
	r = append(r, byte(notTaken))
	r = order.AppendUint32(r, uint32(len(key)))
	return append(r, key...)
}

// after returns the offset after a row.
func (r replayRows) after(at int) int {
	return at + rowHeadBytes + int(binary.LittleEndian.Uint32(r[at+rowKeyLength:]))
}

func (r replayRows) hash(at uint32) uint64 { return binary.LittleEndian.Uint64(r[at:]) }

func (r replayRows) stamp(at uint32) Instant {
	return Instant(binary.LittleEndian.Uint64(r[at+rowStamp:]))
}

func (r replayRows) form(at uint32) uint32 { return binary.LittleEndian.Uint32(r[at+rowForm:]) }

func (r replayRows) taken(at uint32) taken { return taken(r[at+rowTaken]) }

func (r replayRows) setTaken(at uint32, t taken) { r[at+rowTaken] = byte(t) }

func (r replayRows) key(at uint32) []byte {
	from, to := at+rowHeadBytes, uint32(r.after(int(at)))
	return r[from:to:to]
}

// delay sets stamps before now to now. Requires: the stamps ascend.
func (r replayRows) delay(now Instant) {
	for at := 0; at < len(r) && r.stamp(uint32(at)) < now; at = r.after(at) {
		binary.LittleEndian.PutUint64(r[at+rowStamp:], uint64(now))
	}
}

// A replaySorting is the working memory to sort the ops of a shard.
type replaySorting struct {
	firsts []uint32 // of firstEntries
	pages  []uint32 // of each op, the first bits of the hashes of its page
	order  []uint32
	next   []uint32 // for each value of these bits, the index in order of the next op
}

// sort returns the offsets of the rows from a place to another, sorted by the pages that their
// keys have now, all rows of a page in their order. It is a counting sort by the first bits of
// the hashes on a page. If a page is split later, its parts have the hashes of the page that
// was sorted.
func (o *replaySorting) sort(s *shard, rows replayRows, from, to rowPlace) []uint32 {
	n := to.index - from.index
	width := min(uint8(bits.Len(uint(n))), s.dirDepth)
	o.pages, o.order = slices.Grow(o.pages[:0], n), slices.Grow(o.order[:0], n)[:n]
	o.next = slices.Grow(o.next[:0], 1<<width+1)[:1<<width+1]
	o.firsts = s.firstEntries(o.firsts, width)
	clear(o.next)
	for at := from.at; at < to.at; at = rows.after(at) {
		first := o.firsts[rows.hash(uint32(at))>>(64-width)]
		o.pages = append(o.pages, first)
		o.next[first+1]++
	}
	for i := 1; i < len(o.next); i++ {
		o.next[i] += o.next[i-1]
	}
	at := from.at
	for _, first := range o.pages {
		o.order[o.next[first]] = uint32(at)
		o.next[first]++
		at = rows.after(at)
	}
	return o.order
}

// firstEntries returns, for each value of the first width bits of a hash, the first value with the
// same page. It uses the memory of firsts. Requires: width is at most the width of the dir. It
// reads the dir in order, and no heads of pages, which are spread over memory.
func (t *table) firstEntries(firsts []uint32, width uint8) []uint32 {
	n := 1 << width
	firsts = slices.Grow(firsts[:0], n)[:n]
	step, first := t.dirDepth-width, 0
	for i := range n {
		if t.dir[i<<step] != t.dir[first<<step] {
			first = i
		}
		firsts[i] = uint32(first)
	}
	return firsts
}
