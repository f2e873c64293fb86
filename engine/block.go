package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"limitsrv/siphash"
	"limitsrv/values"
)

// A block is a sequence of records in the format of snapshots:
//
//	version of the format, 1 byte; time of the snapshot, 8 bytes
//	record record ...
//
// and a record is
//
//	number of its parameters, counted from 1, if these came before
//	or 0 and its parameters: they become number 1, and all earlier numbers are invalid
//	or the next number and its parameters
//	words of the state, 8 bytes each; none for an algorithm with a tail
//	length of the key, 1 byte, or from 128 on 2: 128 + length / 256, length % 256
//	key
//	tail
//
// Parameters are encoded as Params.Append does. If the key has a past, pastFlag is added
// to the algorithm, and the three numbers of the past follow. If its database is not 0,
// dbFlag is added, and the database, 1 byte, follows. A tail is the number of the last
// change, and
//
//	of LOG: number of entries; of each: instant, as nanoseconds since the previous one; permits
//	of LEASE: number of holders; of each: id, 16 bytes; end, as nanoseconds since the snapshot
//	of BLOB: expiry, 0 for none; twice the number of bytes, plus 1 if a string of up to 44
//	bytes was changed in part; the bytes
//	of HASH, LIST, SET and ZSET: expiry, 0 for none; the contents as one part of
//	values.Store.Append
//
// Words and the time are little-endian; numbers are unsigned varints. All data except the
// ids of holders means the same to an engine with any number of shards and any Seed.
//
// Version 1 has no databases, plain values and sources, and version 2 no documents and penalty
// boxes. Because older programs read them, a shard is written in the lowest version that has all
// of its own.
const (
	blockLimits    = 1 // version without databases, plain values and sources
	blockPlain     = 2 // version without documents and penalty boxes
	blockVersion   = 3 // newest version
	blockHeadBytes = 9
	holderIDBytes  = 16
	pastFlag       = 0x80
	dbFlag         = 0x40
	algFlags       = pastFlag | dbFlag
)

func appendBlockHead(dst []byte, version byte, now Instant) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, version), uint64(now))
}

// version returns the lowest version of a block that can have the keys of a table. Cost:
// linear in the sets of parameters in use.
func (t *table) version() byte {
	version := byte(blockLimits)
	if t.keysIn[0] != t.keys {
		version = blockPlain
	}
	for i := range t.params.list {
		x := &t.params.list[i]
		switch {
		case x.keys > 0 && x.params.Alg == Box:
			return blockVersion
		case x.keys > 0 && x.params.Alg.IsPlain():
			version = blockPlain
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
		a      *algorithm
	)
	for i := range p.slots() {
		at := q.offset(i)
		id := q.head(at)
		if i == 0 || id != last {
			last, a = id, t.params.get(id.param()).alg()
			number = 0
		}
		end := q.end(at, a.words)
		switch {
		case a.tail != nil:
			stubs = appendStub(stubs, &t.params.list[id.param()].paramKey, id.db(), w.page[at+paramBytes:end])
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
	at, words := len(stubs), k.params.alg().words*wordBytes
	stubs = appendParams(append(stubs, 0, 0, 0), k, db)
	stubs = append(stubs, record[words:]...)
	binary.LittleEndian.PutUint16(stubs[at:], uint16(len(stubs)-at-2))
	stubs = append(stubs, record[:words]...)
	return append(stubs, make([]byte, len(state{})*wordBytes-words)...)
}

// cutStub takes the first stub off: a record without its tail, and the cell of which the
// tail must be written; the caller must set the cell's chunks and leases.
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

func appendParams(dst []byte, k *paramKey, db uint8) []byte {
	at := len(dst)
	dst = k.params.Append(dst)
	if !k.past.isZero() {
		dst[at] |= pastFlag
		dst = binary.AppendUvarint(dst, uint64(k.past.until))
		dst = binary.AppendUvarint(dst, uint64(k.past.n))
		dst = binary.AppendUvarint(dst, uint64(k.past.debt))
	}
	if db != 0 {
		dst[at] |= dbFlag
		dst = append(dst, db)
	}
	return dst
}

var errTruncated = errors.New("truncated")

// takeBytes takes n bytes off data; ok is false if there are fewer.
func takeBytes(data []byte, n int) (head, rest []byte, ok bool) {
	if n > len(data) {
		return nil, nil, false
	}
	return data[:n], data[n:], true
}

// takeNumber takes a number up to most off data.
func takeNumber(data []byte, most uint64) (x uint64, rest []byte, ok bool) {
	x, n := binary.Uvarint(data)
	if n <= 0 || x > most {
		return 0, nil, false
	}
	return x, data[n:], true
}

// blockParams are what records of a block share.
type blockParams struct {
	paramKey
	db uint8
}

// takeParams takes parameters, their past and the database off data.
func takeParams(data []byte) (k blockParams, rest []byte, err error) {
	p := &k.params
	n := p.Decode(data)
	if n <= 0 || p.Limit|p.Count|p.Period < 0 {
		return k, nil, errTruncated
	}
	rest = data[n:]
	flags := p.Alg & algFlags
	p.Alg &^= flags
	if flags&pastFlag != 0 {
		for _, to := range [...]*int64{(*int64)(&k.past.until), &k.past.n, &k.past.debt} {
			var x uint64
			var ok bool
			if x, rest, ok = takeNumber(rest, 1<<63-1); !ok {
				return k, nil, errTruncated
			}
			*to = int64(x)
		}
	}
	if flags&dbFlag != 0 {
		var db []byte
		var ok bool
		if db, rest, ok = takeBytes(rest, 1); !ok || db[0] == 0 || db[0] >= Databases {
			return k, nil, errors.New("database is missing or out of range")
		}
		k.db = db[0]
	}
	return k, rest, p.Check()
}

// A blockRecord is a record that has been read and validated.
type blockRecord struct {
	hash   uint64
	params int // index in the reader's params
	state  state
	key    []byte
	tail   []byte
}

// A blockReader reads a block. It is reused to avoid allocations.
type blockReader struct {
	version   byte
	now       Instant
	params    []blockParams // all in the block so far
	paramBase int           // index in params of number 1
	records   []blockRecord
	sources   []blockSource
	documents []blockDocument
	checked   *values.Store // memory to check contents in, empty between two records
	cell      cell          // of the record being read; a field to avoid an allocation
}

// read reads a block for an engine with a hash key.
func (r *blockReader) read(block []byte, key siphash.Key) error {
	r.params, r.paramBase, r.records, r.sources, r.documents = r.params[:0], 0, r.records[:0], r.sources[:0], r.documents[:0]
	head, rest, ok := takeBytes(block, blockHeadBytes)
	switch {
	case len(block) > 0 && (block[0] < blockLimits || block[0] > blockVersion):
		return fmt.Errorf("format %d is not supported, only %d to %d", block[0], blockLimits, blockVersion)
	case !ok:
		return errTruncated
	}
	r.version, r.now = head[0], Instant(binary.LittleEndian.Uint64(head[1:]))
	if r.now < 0 || r.now > latest {
		return fmt.Errorf("time %d is out of range", r.now)
	}
	for len(rest) > 0 {
		if source, is := bytes.CutPrefix(rest, []byte(sourceMark)); is {
			var err error
			if rest, err = r.readSource(source); err != nil {
				return fmt.Errorf("source %d: %w", len(r.sources), err)
			}
			continue
		}
		if document, is := bytes.CutPrefix(rest, []byte(documentMark)); is {
			var err error
			if rest, err = r.readDocument(document); err != nil {
				return fmt.Errorf("document %d: %w", len(r.documents), err)
			}
			continue
		}
		params, behind, err := r.readParams(rest)
		if err == nil {
			rest, err = r.record(behind, params, key)
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", len(r.records), err)
		}
	}
	return nil
}

// readParams reads the parameters of a record, or their number, and returns their index.
func (r *blockReader) readParams(data []byte) (index int, rest []byte, err error) {
	known := len(r.params) - r.paramBase
	number, rest, ok := takeNumber(data, uint64(known+1))
	switch {
	case !ok:
		return 0, nil, errors.New("parameters are not in the block")
	case number > 0 && int(number) <= known:
		return r.paramBase + int(number) - 1, rest, nil
	case number == 0:
		r.paramBase = len(r.params)
	}
	p, rest, err := takeParams(rest)
	switch {
	case err != nil:
	case r.version == blockLimits && (p.db != 0 || p.params.Alg.IsPlain()):
		err = errors.New("a plain value or a database in a block of version 1")
	case r.version < blockVersion && p.params.Alg == Box:
		err = fmt.Errorf("a penalty box in a block of version %d", r.version)
	}
	r.params = append(r.params, p)
	return len(r.params) - 1, rest, err
}

var errInvalidState = errors.New("state is invalid for its parameters")

// record reads a record after the number of its parameters.
func (r *blockReader) record(data []byte, params int, key siphash.Key) (rest []byte, err error) {
	c := &r.cell
	*c = cell{params: r.params[params].params, past: r.params[params].past}
	var (
		a  = c.alg()
		x  = blockRecord{params: params}
		ok bool
	)
	if a.tail == nil {
		var words []byte
		if words, data, ok = takeBytes(data, a.words*wordBytes); !ok {
			return nil, errTruncated
		}
		for i := range a.words {
			x.state[i] = binary.LittleEndian.Uint64(words[i*wordBytes:])
		}
		c.state = x.state
	}
	if m := c.meter(); m == nil || !m.valid(c, r.now) { // nil: a past that its algorithm can not have
		return nil, errInvalidState
	}
	if x.key, data, ok = takeKey(data); !ok {
		return nil, errors.New("key is truncated or too long")
	}
	if a.tail != nil {
		c.values = r.checked
		if rest, ok = a.tail.read(data, r.now, c); !ok {
			return nil, errInvalidState
		}
		x.tail, data = data, rest
	}
	x.hash = sumIn(key, r.params[params].db, x.key)
	r.records = append(r.records, x)
	return data, nil
}

func takeKey(data []byte) (key, rest []byte, ok bool) {
	head, rest, ok := takeBytes(data, 1)
	if !ok {
		return nil, nil, false
	}
	n := int(head[0])
	if n >= 128 {
		if head, rest, ok = takeBytes(rest, 1); !ok {
			return nil, nil, false
		}
		n = n&127<<8 | int(head[0])
	}
	if n > MaxKeyBytes {
		return nil, nil, false
	}
	return takeBytes(rest, n)
}
