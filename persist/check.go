package persist

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// CheckLog verifies the whole log in dir and reports its findings line by line. It writes
// nothing.
//
// Returns: in drop, the end that OpenLog with the same sameBoot would cut off, nil if there
// is no such end. The error is nil if OpenLog would open the log and Read would read it to
// its end; otherwise it is the first damage, a *CorruptError or *NewerError, or an error of
// the file system, which is fs.ErrNotExist if there is no log. Requires: the log is not
// open.
func CheckLog(fs vfs.FS, dir string, sameBoot bool, report func(line string)) (drop *Drop, err error) {
	r, err := checkLog(fs, dir, sameBoot, discardEntries, report)
	if err != nil {
		return nil, err
	}
	return r.drop, nil
}

// ReadLog yields all entries of the log in dir, in order, until yield returns an error,
// which it returns. It writes nothing. An entry is valid until yield returns. ReadLog
// stops without an error at the first damaged byte; CheckLog reports damage. Requires:
// the log is not open.
func ReadLog(fs vfs.FS, dir string, yield func(entry *raft.Log) error) error {
	state, err := readMeta(fs, dir)
	if err != nil {
		return missingMeta(fs, dir, err)
	}
	skipped, err := readSkipped(fs, dir)
	if err != nil {
		return err
	}
	for i, g := range state.Segments {
		isTail := i == len(state.Segments)-1
		_, err := readSegment(fs, dir, g, newCodec(state.codec, nil), func(r *record) error {
			switch {
			case !isTail && r.index > g.MaxIndex:
				return errDone
			case r.index < g.MinIndex:
				return nil
			}
			r.Index, r.Data = r.index, skipped.replace(r.index, r.Data)
			return yield(&r.Log)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLog is CheckLog, and passes each intact entry to verify as a reader of the log gets it: a
// skipped entry is replaced. If verify returns a *refusal, the entry is damaged. Without damage it
// returns an empty repair, which holds the extent of the log.
func checkLog(fs vfs.FS, dir string, sameBoot bool, verify func(r *record) error,
	report func(line string)) (*logRepair, error) {
	state, err := readMeta(fs, dir)
	if err != nil {
		return nil, missingMeta(fs, dir, err)
	}
	skipped, err := readSkipped(fs, dir)
	if err != nil {
		return nil, err
	}
	for _, e := range skipped {
		report(fmt.Sprintf("entry %d is skipped", e.Index))
	}
	asRead := func(r *record) error {
		r.Data = skipped.replace(r.index, r.Data)
		return verify(r)
	}
	r := &logRepair{state: state}
	var first error
	for i := range state.Segments {
		found, err := checkSegment(fs, dir, state, i, sameBoot, asRead)
		if err != nil {
			return nil, err
		}
		report(found.line())
		r.last, r.drop = found.end.last, found.drop
		if first == nil && found.damage != nil {
			first = found.damage
		}
	}
	return r, first
}

// missingMeta returns err, or a *CorruptError if err reports a missing META and there are
// segments that are not empty. (Empty segments are of a log that was being created.)
func missingMeta(fs vfs.FS, dir string, err error) error {
	if !isMissing(err) {
		return err
	}
	names, errList := fs.List(dir)
	if isMissing(errList) {
		return err
	}
	for _, name := range names {
		if _, _, ok := parseSegmentName(name); !ok {
			continue
		}
		info, errStat := fs.Stat(fs.PathJoin(dir, name))
		if errStat == nil && info.Size() > 0 {
			return &CorruptError{File: fs.PathJoin(dir, metaName), Reason: "it is missing, but there are segments"}
		}
		errList = errors.Join(errList, errStat)
	}
	if errList != nil {
		return fmt.Errorf("open the log: %w", errList)
	}
	return err
}

// A segmentCheck is the result of verifying a segment.
type segmentCheck struct {
	info   types.SegmentInfo // of the segment file
	name   string            // of the file
	end    segmentEnd
	damage *CorruptError // nil if the segment can be opened and read
	drop   *Drop         // the end that opening the log cuts off; nil: it cuts off nothing
}

// checkSegment verifies segment i, and passes each intact entry to verify. If verify returns a
// *refusal, the entry is damaged. err is an error of the file system or a *NewerError.
func checkSegment(fs vfs.FS, dir string, state *logState, i int, sameBoot bool,
	verify func(r *record) error) (*segmentCheck, error) {
	f := &segmentCheck{info: state.Segments[i]}
	f.name = fs.PathJoin(dir, segment.FileName(f.info))
	c := newCodec(state.codec, nil)
	var err error
	isTail := i == len(state.Segments)-1
	f.end, err = readSegment(fs, dir, f.info, c, func(r *record) error {
		if r.index < f.info.MinIndex || !isTail && r.index > f.info.MaxIndex {
			return nil // the entry will be dropped
		}
		return verify(r)
	})
	switch {
	case errors.As(err, &f.damage): // the file is missing
		f.end.last, f.end.lastWhole = f.info.BaseIndex-1, f.info.BaseIndex-1
		return f, nil
	case err != nil:
		return nil, err
	case isTail && f.end.last+1 < f.info.MinIndex:
		f.damage = &CorruptError{File: f.name, Offset: f.end.offset,
			Reason: fmt.Sprintf("entry %d is missing", f.info.MinIndex)}
	case isTail:
		f.drop, err = planDrop(fs, f.name, c, f.end, sameBoot)
		if err != nil && !errors.As(err, &f.damage) {
			return nil, err
		}
	case f.end.lastWhole < f.info.MaxIndex:
		f.damage = &CorruptError{File: f.name, Offset: f.end.offset, Reason: f.end.lacks(f.info.MaxIndex)}
	}
	return f, nil
}

// line describes the segment for people.
func (f *segmentCheck) line() string {
	has := fmt.Sprintf("%s: entries %d to %d, %d bytes", f.name, f.info.MinIndex, f.end.lastWhole, f.end.size)
	if f.end.lastWhole < f.info.MinIndex {
		has = fmt.Sprintf("%s: no entries, %d bytes", f.name, f.end.size)
	}
	switch {
	case f.damage != nil:
		return fmt.Sprintf("%s, damaged at byte %d: %s", has, f.damage.Offset, f.damage.Reason)
	case f.drop != nil:
		return fmt.Sprintf("%s. %v. It is cut off when the log is opened", has, f.drop)
	case f.end.reason != "":
		return fmt.Sprintf("%s; its index is damaged, no entries are lost", has)
	}
	return has
}
