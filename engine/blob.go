package engine

import (
	"encoding/binary"

	"limitsrv/values"
)

// blob is the tail of a BLOB: a string that is longer than maxText and not a number, in the
// values of its shard.
//
// State: the expiry, and the words of a values.Head: Ref, Count and Change.
type blob struct{}

// MaxValueBytes bounds a plain string.
const MaxValueBytes = 16 << 20

// head returns the Head of a cell with a tail in values.
func (c *cell) head() values.Head {
	return values.Head{Ref: values.Ref(c.state[1]), Count: int(c.state[2]), Change: c.state[3]}
}

func (c *cell) setHead(h values.Head) {
	c.state[1], c.state[2], c.state[3] = uint64(h.Ref), uint64(h.Count), h.Change
}

// string returns a cursor on the string of a BLOB.
func (c *cell) string() values.String { return c.values.String(c.head()) }

func (blob) discard(c *cell) { c.values.Free(c.head()) }

func (blob) print(c *cell) state { return state{c.state[0], c.state[3]} }

func (blob) bytes(c *cell) int64 { return c.values.Usage(c.head()) }

// embedded is the length up to which a changed string differs from one that was set as a
// whole: by its Encoding.
const embedded = 44

func (blob) write(dst []byte, c *cell, _ Instant) []byte {
	t := c.string()
	length := uint64(t.Count) << 1
	if t.Count <= embedded && t.Ref.Encoding() == "raw" {
		length |= 1
	}
	dst = binary.AppendUvarint(dst, t.Change)
	dst = binary.AppendUvarint(dst, c.state[0])
	dst = binary.AppendUvarint(dst, length)
	return t.Append(dst, 0, t.Count)
}

func (blob) read(data []byte, _ *Params, _ Instant, c *cell) (rest []byte, ok bool) {
	change, data, ok := takeNumber(data, maxChange)
	if !ok {
		return nil, false
	}
	expiry, data, ok := takeNumber(data, 1<<63-1)
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
	if c == nil {
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
