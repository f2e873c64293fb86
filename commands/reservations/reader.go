package reservations

import "encoding/binary"

// A reader decodes the bytes of an answer, of the head of a call, or of a record. bad is set if the bytes
// are too short or malformed.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.data) == 0 {
		r.bad = true
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *reader) uvarint() int64 {
	n, size := binary.Uvarint(r.data)
	return r.number(int64(n), size)
}

func (r *reader) varint() int64 { return r.number(binary.Varint(r.data)) }

func (r *reader) number(n int64, size int) int64 {
	if size <= 0 {
		r.data, r.bad = nil, true
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (x *reader) word() uint64 {
	if len(x.data) < 8 {
		x.data, x.bad = nil, true
		return 0
	}
	n := binary.LittleEndian.Uint64(x.data)
	x.data = x.data[8:]
	return n
}
