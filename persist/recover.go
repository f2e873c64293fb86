package persist

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// create creates an empty log.
func (l *Log) create() (*logState, error) {
	if err := MakeDir(l.fs, l.dir); err != nil {
		return nil, err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	state := &logState{codec: newCodecID(binary.LittleEndian.Uint64(random[:]))}
	state.addTail(l.options.First, l.options.SegmentBytes)
	if err := l.files.prepare(l.fs.PathJoin(l.dir, segment.FileName(*state.tail())), l.options.SegmentBytes); err != nil {
		return nil, err
	}
	l.files.closePrepared()
	return state, writeMeta(l.fs, l.dir, state)
}

// segmentSuffix ends the names of segment files.
const segmentSuffix = ".wal"

// removeLeftovers removes the leftovers of a process that was killed or failed: segments that META
// does not name, and an incomplete META. raft-wal would remove them only after writing.
func (l *Log) removeLeftovers(state *logState) error {
	named := make(map[string]bool)
	for _, g := range state.Segments {
		named[segment.FileName(g)] = true
	}
	err := removeMatching(l.fs, l.dir, func(name string) bool {
		return name == metaNew || strings.HasSuffix(name, segmentSuffix) && !named[name]
	})
	if err != nil {
		return fmt.Errorf("remove unused files: %w", err)
	}
	return nil
}

// repairTail leaves only whole entries, all on disk, and zeros in the tail, because
// raft-wal would accept any frames after a torn frame once it has written up to them. If
// the tail is full it adds a new segment, because raft-wal would refuse to append. It
// returns the index of the last entry.
func (l *Log) repairTail(state *logState) (last uint64, _ *logState, err error) {
	for _, g := range state.Segments[:len(state.Segments)-1] {
		if err := checkHead(l.fs, l.dir, g, l.codec); err != nil {
			return 0, nil, err
		}
	}
	tail := *state.tail()
	name := l.fs.PathJoin(l.dir, segment.FileName(tail))
	end, err := readSegment(l.fs, l.dir, tail, l.codec, discardEntries)
	if err != nil {
		return 0, nil, err
	}
	if end.last+1 < tail.MinIndex {
		return 0, nil, &CorruptError{File: name, Offset: end.offset,
			Reason: fmt.Sprintf("entry %d is missing", tail.MinIndex)}
	}
	if l.dropped, err = planDrop(l.fs, name, l.codec, end, l.options.SameBoot); err != nil {
		return 0, nil, err
	}
	if end.last < l.options.Least {
		return 0, nil, endsEarly(name, end, l.options.Least)
	}
	if err := l.removeLeftovers(state); err != nil {
		return 0, nil, err
	}
	if err := cutFile(l.fs, name, end); err != nil {
		return 0, nil, err
	}
	if end.indexStart == 0 {
		return end.last, state, nil
	}
	next := &logState{codec: state.codec}
	next.NextSegmentID = state.NextSegmentID
	next.Segments = append(next.Segments, state.Segments...)
	full := next.tail()
	full.MaxIndex, full.IndexStart, full.SealTime = end.last, end.indexStart, time.Now()
	next.addTail(end.last+1, l.options.SegmentBytes)
	if err := l.files.prepare(l.fs.PathJoin(l.dir, segment.FileName(*next.tail())), l.options.SegmentBytes); err != nil {
		return 0, nil, err
	}
	l.files.closePrepared()
	return end.last, next, writeMeta(l.fs, l.dir, next)
}

// checkHead checks that the file of a full segment exists and belongs to it.
func checkHead(fs vfs.FS, dir string, info types.SegmentInfo, c *codec) error {
	name := fs.PathJoin(dir, segment.FileName(info))
	file, err := fs.Open(name)
	if isMissing(err) {
		return &CorruptError{File: name, Reason: "it is missing"}
	}
	if err != nil {
		return err
	}
	w := segmentReader{codec: c, file: newReadAhead(file, segmentHead)}
	reason, err := w.head(info)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if reason != "" {
		return &CorruptError{File: name, Reason: reason}
	}
	return nil
}

// endsEarly returns the error for a log that ends before entry least.
func endsEarly(name string, end segmentEnd, least uint64) *CorruptError {
	return &CorruptError{
		File: name, Offset: end.offset,
		Reason: fmt.Sprintf("it ends with entry %d, but entry %d was on disk", end.last, least),
	}
}

// zeroBytes is the size of a write by cutFile.
const zeroBytes = 1 << 20

// cutFile zeroes a segment file after its valid end and syncs it.
func cutFile(fs vfs.FS, name string, end segmentEnd) (err error) {
	file, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("cut %s at byte %d: %w", name, end.offset, err)
		}
	}()
	if end.reason != "" {
		// Backwards: if interrupted, the rest of an unfinished write is still the start of
		// a write.
		zeros := make([]byte, min(zeroBytes, end.data-end.offset))
		for to := end.data; to > end.offset; to -= int64(len(zeros)) {
			zeros = zeros[:min(int64(len(zeros)), to-end.offset)]
			if _, err := file.WriteAt(zeros, to-int64(len(zeros))); err != nil {
				return err
			}
		}
	}
	return file.Sync()
}
