package engine

import (
	"encoding/binary"

	"limitsrv/engine/values"
)

// record is the tail of a key that stores a reservation. Package reservations defines its bytes.
type record struct{ contents }

// MaxRecordBytes bounds the bytes of a record.
const MaxRecordBytes = 1 << 17

// hasText reports whether a value of a row is a text in the values of its shard.
func hasText(alg Alg) bool { return alg == Blob || alg == IDRecord }

func (record) write(dst []byte, c *cell, _ Instant) []byte {
	t := c.string()
	dst = binary.AppendUvarint(appendHead(dst, c), uint64(t.Count))
	return t.Append(dst, 0, t.Count)
}

func (record) read(data []byte, _ Instant, c *cell) (rest []byte, ok bool) {
	change, expiry, data, ok := takeHead(data)
	if !ok {
		return nil, false
	}
	n, data, ok := takeNumber(data, MaxRecordBytes)
	if !ok || n == 0 {
		return nil, false
	}
	text, rest, ok := takeBytes(data, int(n))
	if !ok {
		return nil, false
	}
	if c.detached() {
		return rest, true
	}
	t := c.values.String(values.Head{})
	t.Set(text)
	c.values.SawChange(change)
	t.Change = change
	c.state[0] = expiry
	c.setHead(t.Head)
	record{}.count(c, 1)
	return rest, true
}

// OpenRecord is the first byte of the record of a reservation that is not settled.
const OpenRecord = 0

// isOpen reports whether the record in the cell is of a reservation that is not settled.
func (record) isOpen(c *cell) bool {
	var first [1]byte
	t := c.string()
	return t.Count > 0 && t.Append(first[:0], 0, 1)[0] == OpenRecord
}

// count counts n more records like the cell's.
func (r record) count(c *cell, n int64) {
	if stats := &c.holdings.records; r.isOpen(c) {
		stats.Open += n
	} else {
		stats.Settled += n
	}
}

func (r record) discard(c *cell) {
	r.count(c, -1)
	if r.isOpen(c) {
		c.holdings.records.left++
	}
	r.contents.discard(c)
}
