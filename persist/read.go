package persist

import (
	"fmt"

	"github.com/hashicorp/raft-wal/segment"
)

// Read yields the entries from index from to Last, as it is at the time of the call, in order. If
// yield returns an error, Read stops and returns it. Each entry is verified; at the first damaged
// entry Read returns a *CorruptError. For a skipped entry it yields the replacement. data is valid
// until yield returns. Requires: from is First to Last+1.
//
// Concurrency: it may run during Append, but not during a DropBefore of entries to be
// read. It works on a broken log too. Cost: the files are read once, in order, from the
// start of the segment that holds from.
func (l *Log) Read(from uint64, yield func(index uint64, data []byte) error) error {
	first, last := l.First(), l.Last()
	if from < first || from > last+1 {
		return fmt.Errorf("read the log from entry %d: it has %d to %d", from, first, last)
	}
	segments := l.meta.current().Segments
	for i, g := range segments {
		until := last
		if i < len(segments)-1 {
			until = min(last, g.MaxIndex)
		}
		if until < from || g.BaseIndex > last {
			continue
		}
		read := g.BaseIndex - 1
		end, err := readSegment(l.fs, l.dir, g, l.codec, func(r *record) error {
			if r.index > until {
				return errDone
			}
			read = r.index
			if r.index < from {
				return nil
			}
			return yield(r.index, l.skipped.replace(r.index, r.Data))
		})
		if err != nil {
			return err
		}
		if read < until {
			return &CorruptError{File: l.fs.PathJoin(l.dir, segment.FileName(g)), Offset: end.offset, Reason: end.lacks(until)}
		}
	}
	return nil
}

// lacks explains why a segment ends before entry until.
func (e *segmentEnd) lacks(until uint64) string {
	if e.reason == "" {
		return fmt.Sprintf("it ends with entry %d instead of %d", e.last, until)
	}
	return e.reason
}
