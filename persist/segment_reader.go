package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// This file reads the segment files of raft-wal v0.4.2 without raft-wal, which reads each
// entry with two reads of the file, verifies only the last checksum, and takes the first
// damage for the end.
//
// A segment file is a head of 32 bytes and frames, little-endian. A frame has a head of 8
// bytes and a payload, padded with zeros to a multiple of 8:
//
//	entry:  kind 1, 3 zero bytes, length; a record
//	index:  kind 2, 3 zero bytes, length; the offsets of the frames of the entries, 4
//	        bytes each: the segment is full
//	commit: kind 3, 3 zero bytes, CRC32C of all since the previous commit
//
// Bytes after the last commit were never acknowledged.
const (
	segmentMagic = 0x58eb6b0d // followed by the version, which is 0, in 4 bytes
	segmentHead  = 32
	frameHead    = 8

	frameEntry  = 1
	frameIndex  = 2
	frameCommit = 3

	maxFrameBytes = 64 << 20 // segment.MaxEntrySize
)

// A segmentEnd describes the end of the valid part of a segment file.
type segmentEnd struct {
	last       uint64 // index of the last committed entry; the index before the first if there are no entries
	lastWhole  uint64 // index of the last whole entry, committed or not
	offset     int64  // after the last commit
	indexStart uint64 // offset of the index's payload; 0 if the segment is not full
	size       int64  // of the file
	data       int64  // after the last byte that is not zero, at least offset
	// reason describes the first invalid bytes; empty: only zeros follow. unfinished: by the
	// frames before them, the following bytes are the first part of a write, and zeros. junk:
	// the head of the file is neither correct nor missing. refused: yield has rejected an intact
	// entry.
	reason                    string
	unfinished, junk, refused bool
}

// segmentReader reads a segment file from its start.
type segmentReader struct {
	codec *codec
	file  *readAhead
	next  int64  // offset of the next frame
	crc   uint32 // since the last commit
	index uint64 // of the next entry
	full  uint64 // indexStart, once the index was read
	entry record // the record passed to yield
	end   segmentEnd
}

var errDone = errors.New("done")

// A refusal is an error of yield that rejects an entry: the valid part of the segment ends before
// it.
type refusal struct {
	index uint64
	err   error
}

func (r *refusal) Error() string { return fmt.Sprintf("entry %d can't be applied: %v", r.index, r.err) }

func (r *refusal) Unwrap() error { return r.err }

// readSegment yields the verified entries of a segment in order, until yield returns an
// error, which it returns; errDone stops it without an error, and a *refusal is damage.
// Entries after end.last are not committed. The record is valid until yield returns.
//
// err is an error of the file system or of yield, or a *NewerError; damage is described
// by end.reason.
func readSegment(files vfs.FS, dir string, info types.SegmentInfo, c *codec,
	yield func(r *record) error) (end segmentEnd, err error) {
	name := files.PathJoin(dir, segment.FileName(info))
	file, err := files.Open(name, vfs.SequentialReadsOption)
	if isMissing(err) {
		return end, &CorruptError{File: name, Reason: "it is missing"}
	}
	if err != nil {
		return end, fmt.Errorf("read the log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stat, err := file.Stat()
	if err != nil {
		return end, fmt.Errorf("read the log: %w", err)
	}
	w := &segmentReader{codec: c, file: newReadAhead(file, stat.Size()), index: info.BaseIndex}
	w.end = segmentEnd{last: info.BaseIndex - 1, lastWhole: info.BaseIndex - 1, size: stat.Size()}
	if w.end.reason, err = w.head(info); err == nil && w.end.reason == "" {
		w.end.reason, err = w.frames(yield)
	}
	if err == nil {
		err = w.trailing(info)
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read log segment %s at byte %d: %w", name, w.next, err)
	}
	return w.end, err
}

// discardEntries is a yield function that ignores the entries.
func discardEntries(*record) error { return nil }

// head verifies the head of the file. A file without a head may still be valid, with
// nothing committed to it.
func (w *segmentReader) head(info types.SegmentInfo) (reason string, err error) {
	head, err := w.file.at(0, segmentHead)
	if err != nil {
		return "", err
	}
	if len(head) < segmentHead {
		return "it has no head", nil
	}
	if !bytes.Equal(head, headOf(info, w.codec)) {
		return "its head does not match this segment", nil
	}
	w.crc = crc32.Checksum(head, castagnoli)
	w.next = segmentHead
	return "", nil
}

// frames reads frames to the end of the valid part.
func (w *segmentReader) frames(yield func(r *record) error) (reason string, err error) {
	for {
		head, err := w.file.at(w.next, frameHead)
		if err != nil {
			return "", err
		}
		if len(head) < frameHead || binary.LittleEndian.Uint64(head) == 0 {
			return w.uncommitted(), nil
		}
		if head[1]|head[2]|head[3] != 0 {
			return "the head of a frame is invalid", nil
		}
		kind, value := head[0], binary.LittleEndian.Uint32(head[4:])
		switch kind {
		case frameCommit:
			reason = w.commit(value)
		case frameEntry, frameIndex:
			reason, err = w.payload(kind, value, yield)
		default:
			reason = fmt.Sprintf("a frame of unknown kind %d", kind)
		}
		if err != nil || reason != "" {
			return reason, err
		}
	}
}

// uncommitted returns the reason for an end without a commit.
func (w *segmentReader) uncommitted() string {
	if w.next > w.end.offset && w.next > segmentHead {
		return "its last entry is incomplete"
	}
	return ""
}

// commit reads a commit frame.
func (w *segmentReader) commit(crc uint32) (reason string) {
	switch {
	case crc != w.crc:
		return "the checksum of a commit does not match"
	case w.index == w.end.last+1 && w.full == 0:
		return "a commit without entries"
	}
	w.next += frameHead
	w.end.last, w.end.offset, w.end.indexStart, w.crc = w.index-1, w.next, w.full, 0
	return ""
}

// payload reads an entry or index frame of length bytes.
func (w *segmentReader) payload(kind byte, length uint32, yield func(r *record) error) (reason string, err error) {
	padded := (int64(length) + 7) &^ 7
	if length > maxFrameBytes || w.next+frameHead+padded > w.file.size {
		return fmt.Sprintf("a frame of %d bytes does not fit", length), nil
	}
	if w.full != 0 {
		return "a frame behind the index", nil
	}
	b, err := w.file.at(w.next, frameHead+int(padded))
	if err != nil || len(b) < frameHead+int(padded) {
		return "a frame that ends too early", err
	}
	crc := crc32.Update(w.crc, castagnoli, b)
	if kind == frameIndex {
		w.crc = crc
		w.full = uint64(w.next) + frameHead
		w.next += int64(len(b))
		return "", nil
	}
	r := &w.entry
	if err := w.codec.read(b[frameHead:frameHead+length], r); err != nil {
		if errors.As(err, new(*NewerError)) {
			return "", err
		}
		return err.Error(), nil
	}
	if r.index != w.index {
		return fmt.Sprintf("entry %d instead of %d", r.index, w.index), nil
	}
	if err := yield(r); err != nil {
		if refused := (*refusal)(nil); errors.As(err, &refused) {
			w.end.refused = true
			return refused.Error(), nil
		}
		return "", err
	}
	w.crc = crc
	w.next += int64(len(b))
	w.end.lastWhole = w.index
	w.index++
	return "", nil
}
