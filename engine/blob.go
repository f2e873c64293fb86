package engine

import (
	"encoding/binary"

	"limitsrv/engine/values"
)

// blob is the tail of a BLOB: a string that is longer than maxText and not a number.
type blob struct{ contents }

// MaxValueBytes bounds a plain string.
const MaxValueBytes = 16 << 20

// string returns a cursor on the string of a BLOB.
func (c *cell) string() values.String { return c.values.String(c.head()) }

// embedded is a length. Up to it a changed string has another Encoding than a string that
// was set as a whole.
const embedded = 44

func (blob) write(dst []byte, c *cell, _ Instant) []byte {
	t := c.string()
	length := uint64(t.Count) << 1
	if t.Count <= embedded && t.Ref.Encoding() == "raw" {
		length |= 1
	}
	dst = binary.AppendUvarint(appendHead(dst, c), length)
	return t.Append(dst, 0, t.Count)
}

func (blob) read(data []byte, _ Instant, c *cell) (rest []byte, ok bool) {
	change, expiry, data, ok := takeHead(data)
	if !ok {
		return nil, false
	}
	length, data, ok := takeNumber(data, MaxValueBytes<<1)
	if !ok {
		return nil, false
	}
	n, changed := int(length>>1), length&1 != 0
	value, rest, ok := takeBytes(data, n)
	if !ok || n <= maxText || changed && n > embedded {
		return nil, false
	}
	if c.detached() {
		return rest, true
	}
	t := c.values.String(values.Head{})
	if changed {
		t.Write(0, value)
	} else {
		t.Set(value)
	}
	c.values.SawChange(change)
	t.Change = change
	c.state[0] = expiry
	c.setHead(t.Head)
	return rest, true
}
