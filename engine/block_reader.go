package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"limitsrv/engine/siphash"
	"limitsrv/engine/values"
)

// A blockRecord is a record that has been read and validated. It locates its parts in the block,
// without pointers, so that the garbage collector has no work with the records.
type blockRecord struct {
	hash   uint64
	expiry Instant // if it has no tail
	params uint32  // index in the reader's params
	// words, key and end are offsets: of the state, if it has no tail, of the key, and of the end of
	// the key, where the tail begins.
	words, key, end uint32
}

// A blockReader reads a block. It is reused to avoid allocations.
type blockReader struct {
	block     []byte
	version   byte
	now       Instant
	params    []blockParams // all in the block so far
	paramBase int           // index in params of number 1
	records   []blockRecord
	unsorted  bool          // the records are not in the order of their hashes
	left      []blockRecord // by loadPages
	needs     []int         // of loadPages
	sources   []blockSource
	documents []blockDocument
	checked   *values.Store // memory to check contents in, empty between two records
	// cell has the record being read, with the parameters of index cellParams-1; a field to avoid
	// an allocation.
	cell       cell
	cellParams int
}

// key returns the key of a record.
func (r *blockReader) key(x *blockRecord) []byte { return r.block[x.key:x.end:x.end] }

// appendState appends the first words of a state to dst.
func appendState(dst []byte, words int, s *state) []byte {
	for _, w := range s[:words] {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// takeState takes some words of state off data.
func takeState(data []byte, words int, s *state) (rest []byte, ok bool) {
	of, rest, ok := takeBytes(data, words*wordBytes)
	if !ok {
		return nil, false
	}
	for i := range words {
		s[i] = binary.LittleEndian.Uint64(of[i*wordBytes:])
	}
	return rest, true
}

// read reads a block for an engine with a hash key.
func (r *blockReader) read(block []byte, key siphash.Key) error {
	r.block, r.params, r.paramBase, r.cellParams = block, r.params[:0], 0, 0
	r.records, r.unsorted, r.sources, r.documents = r.records[:0], false, r.sources[:0], r.documents[:0]
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
		if rest[0] == textMark {
			behind, is, err := r.readText(rest)
			if err != nil {
				return err
			}
			if is {
				rest = behind
				continue
			}
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

// textMark is the first byte of sourceMark and of documentMark.
const textMark = 0

// readText reads a source or a document, if rest starts with a text.
func (r *blockReader) readText(rest []byte) (behind []byte, is bool, err error) {
	if source, is := bytes.CutPrefix(rest, []byte(sourceMark)); is {
		if behind, err = r.readSource(source); err != nil {
			err = fmt.Errorf("source %d: %w", len(r.sources), err)
		}
		return behind, true, err
	}
	if document, is := bytes.CutPrefix(rest, []byte(documentMark)); is {
		if behind, err = r.readDocument(document); err != nil {
			err = fmt.Errorf("document %d: %w", len(r.documents), err)
		}
		return behind, true, err
	}
	return nil, false, nil
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
	case r.version < blockTexts && p.params.Alg == Box:
		err = fmt.Errorf("a penalty box in a block of version %d", r.version)
	case r.version < blockReceipts && p.params.Alg == IDReceipt:
		err = fmt.Errorf("a receipt in a block of version %d", r.version)
	case r.version < blockHolds && (p.params.Alg == IDRecord || p.past.held != 0):
		err = fmt.Errorf("holds or a reservation in a block of version %d", r.version)
	case p.past.held != 0 && p.params.alg().limiter == nil:
		err = errors.New("holds on a key whose algorithm does not count tokens")
	}
	r.params = append(r.params, p)
	return len(r.params) - 1, rest, err
}

var errInvalidState = errors.New("state is invalid for its parameters")

// record reads a record after the number of its parameters.
func (r *blockReader) record(data []byte, params int, key siphash.Key) (rest []byte, err error) {
	c := &r.cell
	if r.cellParams != params+1 {
		*c = cell{params: r.params[params].params, past: r.params[params].past}
		r.cellParams = params + 1
	}
	tail, words, ok := c.tail(), data, true
	c.state, c.holds = state{}, noHolds
	if tail == nil {
		if data, ok = takeState(data, c.words(), &c.state); !ok {
			return nil, errTruncated
		}
	}
	m := c.meter()
	if m == nil || !m.valid(c, r.now) { // nil: a past that its algorithm can not have
		return nil, errInvalidState
	}
	name, data, ok := takeKey(data)
	if !ok {
		return nil, errors.New("key is truncated or too long")
	}
	end, expiry := r.offset(data), Instant(0)
	if tail == nil {
		expiry = r.now.after(m.until(c, r.now, 0))
	} else {
		r.cellParams, c.values = 0, r.checked
		if data, ok = tail.read(data, r.now, c); !ok {
			return nil, errInvalidState
		}
	}
	n := len(r.records)
	r.records = append(r.records, blockRecord{})
	x := &r.records[n]
	x.hash, x.expiry, x.params = sumIn(key, r.params[params].db, name), expiry, uint32(params)
	x.words, x.key, x.end = r.offset(words), end-uint32(len(name)), end
	r.unsorted = r.unsorted || n > 0 && r.records[n-1].hash > x.hash
	return data, nil
}

// offset returns the offset in the block of its rest.
func (r *blockReader) offset(rest []byte) uint32 { return uint32(len(r.block) - len(rest)) }

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
