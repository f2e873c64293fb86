package persist

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/hashicorp/raft-wal/types"
)

// A killed process leaves the first part of its last write, with zeros after it: the page
// cache holds a write up to the point that the call has reached, and all earlier writes
// whole. raft-wal writes a batch with a single call: the head of the file in the first
// batch, the entries, the index if the segment is full then, and a commit.

// trailing classifies the bytes after the valid part: only zeros, an unfinished write, or
// other bytes.
func (w *segmentReader) trailing(info types.SegmentInfo) (err error) {
	if w.end.data, err = w.dataEnd(); err != nil {
		return err
	}
	if w.end.data <= w.end.offset {
		w.end.data, w.end.reason = w.end.offset, ""
		return nil
	}
	if w.end.reason == "" {
		w.end.reason = "unexpected data after its last entry"
	}
	w.end.unfinished, err = w.isUnfinished(info)
	return err
}

// dataEnd returns the offset after the last byte that is not zero, at least the end of the
// valid part.
func (w *segmentReader) dataEnd() (int64, error) {
	for to := w.end.size; to > w.end.offset; {
		from := max(w.end.offset, to-readAheadBytes)
		b, err := w.file.at(from, int(to-from))
		if err != nil {
			return 0, err
		}
		if n := len(bytes.TrimRight(b, "\x00")); n > 0 {
			return from + int64(n), nil
		}
		to = from
	}
	return w.end.offset, nil
}

// isUnfinished reports whether the bytes from the first invalid frame to the last
// non-zero byte are the start of a frame that is allowed there.
func (w *segmentReader) isUnfinished(info types.SegmentInfo) (bool, error) {
	left := w.end.data - w.next
	b, err := w.file.at(w.next, int(min(max(left, 0), frameHead+recordHeader)))
	if err != nil {
		return false, err
	}
	torn := tornFrame{b, left}
	// there are uncommitted entries before it
	order, uncommitted := binary.LittleEndian, w.next > max(w.end.offset, segmentHead)
	if left <= 0 {
		return uncommitted || w.end.offset == 0, nil
	}
	if w.next == 0 {
		w.end.junk = !torn.begins(headOf(info, w.codec), segmentHead) && !isZero(b[:min(len(b), segmentHead)])
		return left < segmentHead && !w.end.junk && b[0] != 0, nil
	}
	commit := order.AppendUint32([]byte{frameCommit, 0, 0, 0}, w.crc)
	if uncommitted && left <= frameHead && differByOneBit(b[:left], commit) {
		return false, nil
	}
	if uncommitted && torn.begins(commit, frameHead) {
		return true, nil
	}
	if w.full != 0 {
		return false, nil
	}
	indexBytes := uint32(4 * (w.index - info.BaseIndex))
	if index := order.AppendUint32([]byte{frameIndex, 0, 0, 0}, indexBytes); uncommitted &&
		torn.begins(index, frameHead+(int64(indexBytes)+7)&^7) {
		return true, nil
	}
	return torn.beginsEntry(w.codec, w.index, w.end.size-w.next), nil
}

// headOf returns the head of a segment file.
func headOf(info types.SegmentInfo, c *codec) (head []byte) {
	for _, v := range [...]uint64{segmentMagic, info.BaseIndex, info.ID, uint64(c.id)} {
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	return head
}

// differByOneBit reports whether begin, padded with zeros, differs from commit in one
// bit. That is damage, not an unfinished write: frames begin at multiples of 8, and the
// write of a killed process ends at a page boundary.
func differByOneBit(begin, commit []byte) bool {
	var filled [frameHead]byte
	copy(filled[:], begin)
	return bits.OnesCount64(binary.LittleEndian.Uint64(filled[:])^binary.LittleEndian.Uint64(commit)) == 1
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// A tornFrame holds the first bytes of a possible start of a frame. left is the length of
// the start, and its last byte is not zero.
type tornFrame struct {
	b    []byte
	left int64
}

// begins reports whether it is the start of a frame of size bytes that begins with want.
func (t tornFrame) begins(want []byte, size int64) bool {
	return t.left < size && t.has(0, want)
}

// has reports whether it contains want at an offset, up to its own end.
func (t tornFrame) has(at int64, want []byte) bool {
	n := min(t.left-at, int64(len(want)))
	return n <= 0 || bytes.Equal(t.b[at:at+n], want[:n])
}

// beginsEntry reports whether it is the start of the frame of an entry. end is the
// distance to the end of the file.
func (t tornFrame) beginsEntry(c *codec, index uint64, end int64) bool {
	if !t.has(0, []byte{frameEntry, 0, 0, 0}) {
		return false
	}
	if t.left < frameHead {
		return true
	}
	order, length := binary.LittleEndian, binary.LittleEndian.Uint32(t.b[4:])
	padded := (int64(length) + 7) &^ 7
	return length >= recordHeader && length <= maxFrameBytes &&
		(t.left < frameHead+int64(length) || end < frameHead+padded) &&
		t.has(frameHead, order.AppendUint32(nil, c.id.magic())) &&
		t.has(frameHead+8, order.AppendUint32(nil, length)) &&
		t.has(frameHead+12, []byte{recordVersion}) &&
		t.has(frameHead+16, order.AppendUint64(nil, index))
}
