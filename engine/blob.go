package engine

import "encoding/binary"

// blob is the tail of a BLOB: a string that is longer than maxText and not a number, in
// memory of its shard.
//
// State: the expiry, the number of the memory, the length in bytes, and the number of the
// last change among those of all blobs of the shard.
type blob struct{}

// MaxValueBytes bounds a plain string.
const MaxValueBytes = 16 << 20

type blobState struct {
	expiry int64
	ref    blobRef
	length int
	change uint64
}

func loadBlob(c *cell) blobState {
	return blobState{int64(c.state[0]), blobRef(c.state[1]), int(c.state[2]), c.state[3]}
}

// bytes returns the string in place.
func (b blobState) bytes(c *cell) []byte { return c.blobs.bytesOf(b.ref, b.length) }

// setBlob stores a string and its expiry in the cell, which must have no tail.
func (c *cell) setBlob(value []byte, expiry int64) {
	c.params, c.past = Params{Alg: Blob}, past{}
	c.state = state{uint64(expiry), uint64(c.blobs.alloc(value)), uint64(len(value)), c.blobs.nextChange()}
}

func (blob) location(c *cell) uint64 { return c.state[1] }

func (blob) discard(c *cell) {
	b := loadBlob(c)
	c.blobs.release(b.ref, b.length)
}

func (blob) lastChange(c *cell) uint64 { return loadBlob(c).change }

// print depends on the content alone.
func (blob) print(c *cell, key hashKey) state {
	b := loadBlob(c)
	return state{uint64(b.expiry), uint64(b.length), key.sum(b.bytes(c))}
}

func (blob) changes(t *table) uint64 { return t.blobs.changes }

func (blob) bytes(c *cell) int64 { return c.blobs.sizeOf(loadBlob(c).length) }

func (blob) write(dst []byte, c *cell, _ Instant) []byte {
	b := loadBlob(c)
	dst = binary.AppendUvarint(dst, b.change)
	dst = binary.AppendUvarint(dst, uint64(b.expiry))
	dst = binary.AppendUvarint(dst, uint64(b.length))
	return append(dst, b.bytes(c)...)
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
	n, data, ok := takeNumber(data, MaxValueBytes)
	if !ok {
		return nil, false
	}
	value, rest, ok := takeBytes(data, int(n))
	if !ok || len(value) <= maxText {
		return nil, false
	}
	if c != nil {
		c.setBlob(value, int64(expiry))
		c.state[3] = change
		c.blobs.changes = max(c.blobs.changes, change)
	}
	return rest, true
}
