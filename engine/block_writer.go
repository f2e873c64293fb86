package engine

import (
	"encoding/binary"
	"slices"
)

// version returns the lowest version of a block that can have the keys of a shard. Cost: as that of table.version.
func (s *shard) version() byte {
	if s.holds.records.named > 0 {
		return blockVersion
	}
	return s.table.version()
}

// version returns the lowest version of a block that can have the keys of a table, if no record has named
// amounts. Cost: linear in the sets of parameters in use.
func (t *table) version() byte {
	version := byte(blockLimits)
	if t.keysIn[0] != t.keys {
		version = blockPlain
	}
	for i := range t.params.list {
		x := &t.params.list[i]
		switch {
		case x.keys == 0:
		case x.params.Alg == IDRecord || x.past.held != 0:
			return blockHolds
		case x.params.Alg == IDReceipt:
			version = blockReceipts
		case x.params.Alg == Box:
			version = max(version, blockTexts)
		case x.params.Alg.IsPlain():
			version = max(version, blockPlain)
		}
	}
	return version
}

// pageWriter is the working memory for writing pages.
type pageWriter struct {
	ids    []recordHead // in the order of their numbers
	page   []byte
	buffer []byte
	stubs  []byte
}

// write appends the records of a page without tails to dst, and a stub of each other
// record to stubs.
//
// It copies the page first: that reads memory sequentially, while reading the records,
// which are in no order, would wait for memory at each.
func (w *pageWriter) write(dst, stubs []byte, t *table, p page) ([]byte, []byte) {
	w.ids = w.ids[:0]
	w.page = slices.Grow(w.page[:0], len(p.buf))[:len(p.buf)]
	copy(w.page, p.buf[:p.slots()*slotBytes])
	copy(w.page[p.low:], p.buf[p.low:])
	dst = slices.Grow(dst, len(p.buf))
	var (
		q      = page{buf: w.page}
		last   recordHead
		number uint64 // of the parameters and the database of last
		e      *paramEntry
	)
	for i := range p.slots() {
		at := q.offset(i)
		id := q.head(at)
		if i == 0 || id != last {
			last, e = id, &t.params.list[id.param()]
			number = 0
		}
		end := q.end(at, int(e.words))
		switch {
		case e.hasTail():
			stubs = appendStub(stubs, &e.paramKey, id.db(), w.page[at+paramBytes:end])
			continue
		case number == 0:
			dst, number = w.define(dst, t, id)
		default:
			dst = binary.AppendUvarint(dst, number)
		}
		dst = append(dst, w.page[at+paramBytes:end]...)
	}
	return dst, stubs
}

// define appends the number of parameters and a database, and these if they are new.
func (w *pageWriter) define(dst []byte, t *table, id recordHead) ([]byte, uint64) {
	for i, known := range w.ids {
		if known == id {
			return binary.AppendUvarint(dst, uint64(i+1)), uint64(i + 1)
		}
	}
	w.ids = append(w.ids, id)
	if len(w.ids) == 1 {
		dst = append(dst, 0)
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(w.ids)))
	}
	return appendParams(dst, &t.params.list[id.param()].paramKey, id.db()), uint64(len(w.ids))
}

// A stub is a record with a tail that is not written yet, because that takes long if the
// tail is long: the length of the record without its tail, 2 bytes; that record; the
// state, as many words as a cell has.
func appendStub(stubs []byte, k *paramKey, db uint8, record []byte) []byte {
	at, words := len(stubs), int(k.words())*wordBytes
	stubs = appendParams(append(stubs, 0, 0, 0), k, db)
	stubs = append(stubs, record[words:]...)
	binary.LittleEndian.PutUint16(stubs[at:], uint16(len(stubs)-at-2))
	stubs = append(stubs, record[:words]...)
	return append(stubs, make([]byte, len(state{})*wordBytes-words)...)
}

// cutStub takes the first stub off: a record without its tail, and its cell, to write the
// tail from; the caller must set the cell's chunks and leases.
func cutStub(stubs []byte) (record []byte, c cell, rest []byte) {
	n := 2 + int(binary.LittleEndian.Uint16(stubs))
	record, rest = stubs[2:n], stubs[n:]
	x, _, _ := takeParams(record[1:])
	c.params, c.past = x.params, x.past
	for i := range c.state {
		c.state[i] = binary.LittleEndian.Uint64(rest[i*wordBytes:])
	}
	return record, c, rest[len(c.state)*wordBytes:]
}
