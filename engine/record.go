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

// OpenRecord and OpenNamedRecord are the first byte of the record of a reservation that is not settled. With
// OpenNamedRecord the record has named amounts.
const (
	OpenRecord      = 0
	OpenNamedRecord = 3
)

// first returns the first byte of the record in the cell, or -1 if the record has no bytes.
func (record) first(c *cell) int {
	var first [1]byte
	t := c.string()
	if t.Count == 0 {
		return -1
	}
	return int(t.Append(first[:0], 0, 1)[0])
}

// isOpen reports whether the record in the cell is of a reservation that is not settled.
func (r record) isOpen(c *cell) bool {
	first := r.first(c)
	return first == OpenRecord || first == OpenNamedRecord
}

// count counts n more records like the cell's.
func (r record) count(c *cell, n int64) {
	stats := &c.holdings.records
	if !r.isOpen(c) {
		stats.Settled += n
		return
	}
	stats.Open += n
	if r.first(c) == OpenNamedRecord {
		stats.named += n
	}
}

func (r record) discard(c *cell) {
	r.count(c, -1)
	if r.isOpen(c) {
		c.holdings.records.left++
	}
	r.contents.discard(c)
}
