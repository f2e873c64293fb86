package engine

import (
	"bytes"
	"cmp"
	"slices"
)

// A ClosedBox is a penalty box that is closed.
type ClosedBox struct {
	Key []byte
	DB  uint8
	// Level is the number of blocks that are not forgiven, this block included.
	Level int64
	Wait  Span // until it opens
	// Params are the parameters of the box.
	Params Params
}

// ClosedBoxes returns the closed boxes, the box that opens last first. Each shard notes a
// bounded number of boxes, and drops the boxes that closed first. Cost: each shard is
// locked once, for a lookup of each box.
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
				all = append(all, ClosedBox{bytes.Clone(box.key), dbOf(box.hash), d.BoxLevel(), d.Wait, s.cell.params})
			}
		}
		s.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b ClosedBox) int {
		return cmp.Or(cmp.Compare(b.Wait.nanos(), a.Wait.nanos()), bytes.Compare(a.Key, b.Key))
	})
	return all
}
