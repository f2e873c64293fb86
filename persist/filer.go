package persist

import (
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// filer is the types.SegmentFiler of a log. It is raft-wal's, but writes the number of
// our codec to the head of files, where raft-wal writes 1 and then cannot open them; and
// it tracks changes of segment.
type filer struct {
	*segment.Filer
	log *Log
}

// Create implements types.SegmentFiler. It is the last step of a change of segment.
func (f filer) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	defer f.log.rotating.Store(false)
	info.Codec = f.log.codec.ID()
	w, err := f.Filer.Create(info)
	if err != nil {
		f.log.fail(err)
		return nil, err
	}
	return tailWriter{w, f.log}, nil
}

// RecoverTail implements types.SegmentFiler.
func (f filer) RecoverTail(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := f.Filer.RecoverTail(info)
	f.log.files.stopReadAhead()
	if err != nil {
		return nil, err
	}
	return tailWriter{w, f.log}, nil
}

// tailWriter is the writer of the tail segment.
type tailWriter struct {
	types.SegmentWriter
	log *Log
}

// Append implements types.SegmentWriter.
func (w tailWriter) Append(entries []types.LogEntry) error {
	err := w.SegmentWriter.Append(entries)
	if err != nil {
		return err
	}
	if full, _, err := w.Sealed(); full || err != nil {
		w.log.rotating.Store(true)
		return err
	}
	return nil
}
