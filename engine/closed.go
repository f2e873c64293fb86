package engine

import (
	"bytes"
	"cmp"
	"slices"
)

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

// noteClosed notes the box in the cell, with a key.
func (s *shard) noteClosed(hash uint64, key []byte) {
	s.closings.note(hash, key, max(notedBoxes>>s.bits, minNotedBoxes))
}

// A ClosedBox is a penalty box that is closed.
type ClosedBox struct {
	Key []byte
	DB  uint8
	// Level is the number of blocks that are not forgiven, this one included.
	Level int64
	Wait  Span // until it opens
}

// ClosedBoxes returns the closed boxes, those that open last first: of each shard at most
// so many as it notes, the ones that closed last. Cost: each shard is locked once, for a
// lookup of each box.
func (e *Engine) ClosedBoxes(now Instant) (all []ClosedBox) {
	for i := range e.shards {
		s := &e.shards[i]
		at := s.lockForRead(now)
		for j := range s.closings.boxes {
			box := &s.closings.boxes[j]
			pl, _ := s.findLive(at, box.key, box.hash)
			if pl.missing() || s.cell.params.Alg != Box {
				continue
			}
			var d Decision
			if s.cell.fillBox(at, &d); d.Allowed == 0 {
				all = append(all, ClosedBox{bytes.Clone(box.key), dbOf(box.hash), d.BoxLevel(), d.Wait})
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b ClosedBox) int {
		return cmp.Or(cmp.Compare(b.Wait.nanos(), a.Wait.nanos()), bytes.Compare(a.Key, b.Key))
	})
	return all
}

// BoxLevel returns the level of a box, from the decision of a guard at which it is closed or
// closes.
func (d *Decision) BoxLevel() int64 {
	p := d.Params.Penalty()
	return (d.Reset.nanos() - d.Wait.nanos()) / p.Forgive
}

// nanos returns a span that is not Never in nanoseconds, at most the length of an int64.
func (s Span) nanos() int64 {
	const most = 1<<63 - 1
	if s.Millis > (most-s.Nanos)/1e6 {
		return most
	}
	return s.Millis*1e6 + s.Nanos
}
