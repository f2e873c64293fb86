package engine

import (
	"encoding/binary"

	"limitsrv/engine/values"
)

// collectPerPage is the number of parts of freed values that are collected with a page.
const collectPerPage = 64

// contents is the part of a tail that all tails in the values of their shard share.
//
// State: the expiry, and the words of a values.Head: Ref, Count and Change.
type contents struct{}

// head returns the Head of a cell with a tail in values.
func (c *cell) head() values.Head {
	return values.Head{Ref: values.Ref(c.state[1]), Count: int(c.state[2]), Change: c.state[3]}
}

func (c *cell) setHead(h values.Head) {
	c.state[1], c.state[2], c.state[3] = uint64(h.Ref), uint64(h.Count), h.Change
}

func (contents) discard(c *cell) { c.values.Free(c.head()) }

func (contents) print(c *cell) state { return state{c.state[0], c.state[3]} }

func (contents) bytes(c *cell) int64 { return c.values.Usage(c.head()) }

// appendHead appends the number of the last change and the expiry.
func appendHead(dst []byte, c *cell) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, c.state[3]), c.state[0])
}

// takeHead takes the output of appendHead off data.
func takeHead(data []byte) (change, expiry uint64, rest []byte, ok bool) {
	if change, data, ok = takeNumber(data, maxChange); !ok {
		return 0, 0, nil, false
	}
	expiry, rest, ok = takeNumber(data, 1<<63-1)
	return change, expiry, rest, ok
}

// collection is the tail of a hash, list, set or sorted set.
type collection struct {
	contents
	kind values.Kind
}

// onePart is the size of a part that has all of any contents.
const onePart = 1 << 48

func (collection) write(dst []byte, c *cell, _ Instant) []byte {
	dst, _ = c.values.Append(appendHead(dst, c), c.head(), 0, onePart)
	return dst
}

func (t collection) read(data []byte, _ Instant, c *cell) (rest []byte, ok bool) {
	change, expiry, data, ok := takeHead(data)
	if !ok {
		return nil, false
	}
	h, rest, more, err := c.values.Parse(values.Head{}, data)
	if err != nil {
		return nil, false
	}
	if more || h.Ref.Kind() != t.kind {
		c.values.Free(h)
		return nil, false
	}
	if c.detached() {
		c.values.Free(h)
		for c.values.Collect(collectPerPage) {
		}
		return rest, true
	}
	c.values.SawChange(change)
	h.Change = change
	c.state[0] = expiry
	c.setHead(h)
	return rest, true
}
