package engine

import "bytes"

// Each shard notes the boxes that closed last, at least minNotedBoxes, and all shards
// together notedBoxes if they are not more than that allows.
const (
	notedBoxes    = 1024
	minNotedBoxes = 8
)

// closings are the keys of the boxes of a shard that closed last. They affect no decision,
// and are in no Snapshot: loading one notes its closed boxes again. Their memory is bounded
// by the number of the boxes, and used again.
type closings struct {
	boxes []closing // once full, the oldest is at next
	next  int
}

// A closing is a box that closed.
type closing struct {
	hash uint64
	key  []byte
}

// note notes the key of a box that has closed; most is the number to keep.
func (c *closings) note(hash uint64, key []byte, most int) {
	for i := range c.boxes {
		if c.boxes[i].hash == hash && bytes.Equal(c.boxes[i].key, key) {
			return
		}
	}
	if len(c.boxes) < most {
		c.boxes = append(c.boxes, closing{hash, bytes.Clone(key)})
		return
	}
	box := &c.boxes[c.next]
	box.hash, box.key = hash, append(box.key[:0], key...)
	c.next = (c.next + 1) % most
}
