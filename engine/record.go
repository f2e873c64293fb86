package engine

import (
	"encoding/binary"

	"limitsrv/engine/values"
)

// record is the tail of the row of records of reservations: bytes of the commands, as in a BLOB.
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
	return rest, true
}
