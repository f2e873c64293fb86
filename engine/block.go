package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A block is some records, as a snapshot keeps them:
//
//	version of the format, 1 byte; time of the snapshot, 8 bytes
//	section section ...
//
// A section is the records of one page, in the order of their hashes: their number,
// then each as
//
//	number of its parameters in the section, counted from 0 as they appear
//	if it has not been in the section: algorithm and calendar, a byte each; limit, count, period
//	words of the state, 8 bytes each; none for an algorithm with a tail
//	length of the key, 1 byte, or from 128 on 2: 128 + length / 256, length % 256
//	key
//	tail
//
// and a tail is the number of the last change, the number of entries, and
//
//	of LOG, for each: instant, as nanoseconds since the one before; permits
//	of LEASE, for each holder: name, 16 bytes; end, as nanoseconds since the snapshot
//
// Words and the time are little-endian; numbers are unsigned varints. All but
// the names of holders means the same to an engine of any number of shards and
// any Seed.
const (
	blockVersion   = 1
	blockHeadBytes = 9
	nameBytes      = 16
)

func appendBlockHead(dst []byte, now Instant) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, blockVersion), uint64(now))
}

// section is what writing one takes.
type section struct {
	ids  []paramID // of the parameters that stand in it
	page []byte
	cell cell
	buf  []byte // for an image
}

// write appends the records of a page, with what counts of tails at now.
//
// It copies the page first: that reads memory in one go, while the records are in
// no order and would be waited for one by one.
func (w *section) write(dst []byte, t *table, p *page, now Instant) []byte {
	w.ids = w.ids[:0]
	w.page = slices.Grow(w.page[:0], len(p.buf))[:len(p.buf)]
	copy(w.page, p.buf[:p.slots*slotBytes])
	copy(w.page[p.low:], p.buf[p.low:])
	q := page{buf: w.page}
	dst = slices.Grow(dst, len(p.buf))
	dst = binary.AppendUvarint(dst, uint64(p.slots))
	var (
		last   paramID
		number int // of the parameters last
		a      *algorithm
		from   int // where what is copied of a record starts
	)
	for i := range p.slots {
		at := q.offset(i)
		if id := q.param(at); i == 0 || id != last {
			last, a = id, &algorithms[t.params.get(id).Alg]
			if from = paramBytes; a.tail != nil {
				from += a.words * wordBytes
			}
			var known bool
			if number, known = w.number(id); !known {
				dst = binary.AppendUvarint(dst, uint64(number))
				dst = appendParams(dst, t.params.get(id))
			} else {
				dst = binary.AppendUvarint(dst, uint64(number))
			}
		} else {
			dst = binary.AppendUvarint(dst, uint64(number))
		}
		dst = append(dst, w.page[at+from:q.end(at, a.words)]...)
		if a.tail != nil {
			w.cell = cell{params: *t.params.get(last), chunks: &t.chunks, leases: &t.leases}
			q.load(at, a.words, &w.cell.state)
			dst = a.tail.write(dst, &w.cell, now)
		}
	}
	return dst
}

// number is that of parameters in the section, and whether they stand in it.
func (w *section) number(id paramID) (int, bool) {
	for i, known := range w.ids {
		if known == id {
			return i, true
		}
	}
	w.ids = append(w.ids, id)
	return len(w.ids) - 1, false
}

func appendParams(dst []byte, p *Params) []byte {
	dst = append(dst, byte(p.Alg), byte(p.Calendar))
	dst = binary.AppendUvarint(dst, uint64(p.Limit))
	dst = binary.AppendUvarint(dst, uint64(p.Count))
	return binary.AppendUvarint(dst, uint64(p.Period))
}

var errCut = errors.New("it is cut off")

// take takes n bytes off data; ok is false if there are fewer.
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

// takeParams takes parameters off data.
func takeParams(data []byte) (p Params, rest []byte, err error) {
	head, rest, ok := takeBytes(data, 2)
	if !ok {
		return p, nil, errCut
	}
	p.Alg, p.Calendar = Alg(head[0]), Calendar(head[1])
	for _, to := range []*int64{&p.Limit, &p.Count, &p.Period} {
		var x uint64
		if x, rest, ok = takeNumber(rest, 1<<63-1); !ok {
			return p, nil, errCut
		}
		*to = int64(x)
	}
	return p, rest, p.Check()
}

// A loaded is a record that has been read and found right.
type loaded struct {
	hash   uint64
	params int // index of the block's
	state  state
	key    []byte
	tail   []byte
}

// A blockReader reads a block. It is reused, so that it needs no memory.
type blockReader struct {
	now      Instant
	params   []Params // of all sections
	records  []loaded
	sections []int // for each, how many records are in it and those before
}

// read reads a block for an engine with a hash key.
func (r *blockReader) read(block []byte, key hashKey) error {
	r.params, r.records, r.sections = r.params[:0], r.records[:0], r.sections[:0]
	head, rest, ok := takeBytes(block, blockHeadBytes)
	switch {
	case len(block) > 0 && block[0] != blockVersion:
		return fmt.Errorf("it has format %d, and this program knows %d", block[0], blockVersion)
	case !ok:
		return errCut
	}
	r.now = Instant(binary.LittleEndian.Uint64(head[1:]))
	if r.now < 0 || r.now > latest {
		return fmt.Errorf("its time %d is out of range", r.now)
	}
	for len(rest) > 0 {
		var err error
		if rest, err = r.section(rest, key); err != nil {
			return fmt.Errorf("record %d: %w", len(r.records), err)
		}
	}
	return nil
}

// section reads a section and returns what is behind it.
func (r *blockReader) section(data []byte, key hashKey) ([]byte, error) {
	count, data, ok := takeNumber(data, uint64(len(data)))
	if !ok {
		return nil, errCut
	}
	first := len(r.params)
	for range count {
		index, rest, ok := takeNumber(data, uint64(len(r.params)-first))
		if !ok {
			return nil, errors.New("its parameters are not in the block")
		}
		if int(index) == len(r.params)-first {
			p, behind, err := takeParams(rest)
			if err != nil {
				return nil, err
			}
			r.params, rest = append(r.params, p), behind
		}
		var err error
		if data, err = r.record(rest, first+int(index), key); err != nil {
			return nil, err
		}
	}
	r.sections = append(r.sections, len(r.records))
	return data, nil
}

var errState = errors.New("its state is none that its parameters allow")

// record reads a record behind the number of its parameters.
func (r *blockReader) record(data []byte, params int, key hashKey) (rest []byte, err error) {
	var (
		c  = cell{params: r.params[params]}
		a  = c.alg()
		x  = loaded{params: params}
		ok bool
	)
	if a.tail == nil {
		var words []byte
		if words, data, ok = takeBytes(data, a.words*wordBytes); !ok {
			return nil, errCut
		}
		for i := range a.words {
			x.state[i] = binary.LittleEndian.Uint64(words[i*wordBytes:])
		}
		c.state = x.state
	}
	if !a.rule.sound(&c, r.now) {
		return nil, errState
	}
	if x.key, data, ok = takeKey(data); !ok {
		return nil, errors.New("its key is cut off or too long")
	}
	if a.tail != nil {
		if rest, ok = a.tail.read(data, &c.params, r.now, nil); !ok {
			return nil, errState
		}
		x.tail, data = data, rest
	}
	x.hash = key.sum(x.key)
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
