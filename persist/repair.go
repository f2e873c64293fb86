package persist

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// A logRepair is a plan that makes a damaged log usable: it rebuilds META if that is
// damaged, and cuts the log off at the first unreadable entry. If perform is interrupted,
// the repair can be planned and performed again. Requires: the log is not open.
type logRepair struct {
	state    *logState
	damage   *CorruptError // nil if there is nothing to repair
	metaLost *CorruptError // nil if META is not damaged
	cut      *logCut       // nil if the log is not cut off
	drop     *Drop         // the end that opening the log cuts off; nil: it cuts off nothing
	tail     segmentEnd    // end of the last segment, unless the log is cut off
	last     uint64        // index of the last entry that is kept
}

// planRepair reads the whole log, and passes each intact entry to verify. If verify returns a
// *refusal, the entry is damaged. It changes nothing.
func planRepair(fs vfs.FS, dir string, sameBoot bool, verify func(r *record) error) (*logRepair, error) {
	state, err := readMeta(fs, dir)
	if err != nil {
		err = missingMeta(fs, dir, err)
	}
	r := &logRepair{}
	if errors.As(err, &r.metaLost) {
		r.damage = r.metaLost
		state, err = rebuildMeta(fs, dir)
	}
	if err != nil {
		return nil, err
	}
	r.state = state
	for i := range state.Segments {
		found, err := checkSegment(fs, dir, state, i, sameBoot, verify)
		if err != nil {
			return nil, err
		}
		r.last, r.drop, r.tail = found.end.last, found.drop, found.end
		if found.damage != nil {
			r.cut, r.damage = &logCut{*found, i}, found.damage
			r.last = r.cut.first() - 1
			break
		}
	}
	return r, nil
}

// first returns the index of the first entry that is kept.
func (r *logRepair) first() uint64 { return r.state.Segments[0].MinIndex }

// describe describes the loss for people.
func (r *logRepair) describe() string {
	var loss []string
	if r.metaLost != nil {
		loss = append(loss, fmt.Sprintf("%s is damaged: %s. It is rebuilt from the segments.", r.metaLost.File,
			r.metaLost.Reason))
	}
	if r.cut != nil {
		loss = append(loss, r.cut.describe(r.state))
	}
	if r.drop.losesAnswered() {
		loss = append(loss, fmt.Sprintf("%v. It is cut off.", r.drop))
	}
	return strings.Join(loss, "\n")
}

// perform executes the plan.
func (r *logRepair) perform(fs vfs.FS, dir string) error {
	if r.cut != nil {
		return r.cut.perform(fs, dir, r.state)
	}
	if r.metaLost != nil {
		if err := writeMeta(fs, dir, r.state); err != nil {
			return err
		}
	}
	if r.drop != nil {
		return cutFile(fs, r.drop.File, r.tail)
	}
	return nil
}

// A logCut cuts a log off in segment at, after the valid part of the segment.
type logCut struct {
	segmentCheck
	at int
}

// first returns the index of the first lost entry.
func (c *logCut) first() uint64 { return max(c.info.MinIndex, c.end.last+1) }

// keeps reports whether entries of the damaged segment are kept.
func (c *logCut) keeps() bool { return c.end.last >= c.info.MinIndex }

// describe describes the loss for people.
func (c *logCut) describe(state *logState) string {
	first, last := c.first(), state.tail().BaseIndex-1
	lost := fmt.Sprintf("all entries from %d on", first)
	if last >= first {
		lost = fmt.Sprintf("entries %d to %d, and all later ones", first, last)
	}
	return fmt.Sprintf("%s is damaged at byte %d: %s. The log is cut off there. Lost: %s. Kept: entries %d to %d.",
		c.damage.File, c.damage.Offset, c.damage.Reason, lost, state.Segments[0].MinIndex, first-1)
}

// perform cuts the log off. The log stays damaged until the last step.
func (c *logCut) perform(fs vfs.FS, dir string, state *logState) error {
	next := &logState{codec: state.codec}
	next.NextSegmentID = state.NextSegmentID
	next.Segments = append(next.Segments, state.Segments[:c.at]...)
	if !c.keeps() {
		next.addTail(c.info.MinIndex, int64(c.info.SizeLimit))
		made := newFiles(fs, Always)
		if err := made.prepare(fs.PathJoin(dir, segment.FileName(*next.tail())), 0); err != nil {
			return err
		}
		made.closePrepared()
		return writeMeta(fs, dir, next)
	}
	tail := c.info
	tail.MaxIndex, tail.IndexStart, tail.SealTime = 0, 0, time.Time{}
	next.Segments = append(next.Segments, tail)
	if err := writeMeta(fs, dir, next); err != nil {
		return err
	}
	return cutFile(fs, c.name, c.end)
}

// parseSegmentName parses the name of a segment file.
func parseSegmentName(name string) (base, id uint64, ok bool) {
	n, err := fmt.Sscanf(name, "%020d-%016x.wal", &base, &id)
	return base, id, err == nil && n == 2 && name == segment.FileName(types.SegmentInfo{BaseIndex: base, ID: id})
}

// rebuildMeta derives a state from the segment files, from the first file up to the first
// gap.
func rebuildMeta(fs vfs.FS, dir string) (*logState, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	state := &logState{}
	var found []types.SegmentInfo
	for _, name := range names {
		base, id, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		found = append(found, types.SegmentInfo{ID: id, BaseIndex: base, MinIndex: base})
		state.NextSegmentID = max(state.NextSegmentID, id+1)
		if state.codec == 0 {
			if state.codec, err = codecOf(fs, fs.PathJoin(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	if state.codec == 0 {
		return nil, fmt.Errorf("repair the log %s: no segment has a head; delete the directory to start a new log", dir)
	}
	if v := state.codec.version(); v != recordVersion {
		return nil, &NewerError{What: "the codec of the log", Format: v, Known: recordVersion}
	}
	slices.SortFunc(found, func(a, b types.SegmentInfo) int {
		return cmp.Or(cmp.Compare(a.BaseIndex, b.BaseIndex), cmp.Compare(b.ID, a.ID)) // the newer of two first
	}) // the newer first
	return state, state.chain(fs, dir, found)
}

// chain adds consecutive segments to the state.
func (s *logState) chain(fs vfs.FS, dir string, found []types.SegmentInfo) error {
	next := found[0].BaseIndex
	for _, g := range found {
		if g.BaseIndex != next {
			continue
		}
		end, err := readSegment(fs, dir, g, newCodec(s.codec, nil), discardEntries)
		if err != nil {
			return err
		}
		g.Codec, g.CreateTime, g.SizeLimit = uint64(s.codec), time.Now(), defaultSegmentBytes
		if len(s.Segments) > 0 {
			full := s.tail()
			full.SealTime = g.CreateTime
		}
		s.Segments = append(s.Segments, g)
		if end.indexStart == 0 {
			break
		}
		// It is full. If it is the last segment it becomes the tail; OpenLog handles a full
		// tail.
		next = end.last + 1
		s.tail().MaxIndex, s.tail().IndexStart = end.last, end.indexStart
	}
	s.tail().MaxIndex, s.tail().IndexStart = 0, 0
	if reason := s.check(); reason != "" {
		return fmt.Errorf("repair the log %s: %s", dir, reason)
	}
	return nil
}

// codecOf returns the codec number in the head of a segment file, 0 if it has no head.
func codecOf(fs vfs.FS, name string) (id codecID, err error) {
	file, err := fs.Open(name)
	if err != nil {
		return 0, err
	}
	var head [segmentHead]byte
	n, _ := file.ReadAt(head[:], 0)
	if n == segmentHead && binary.LittleEndian.Uint64(head[:]) == segmentMagic {
		id = codecID(binary.LittleEndian.Uint64(head[24:]))
	}
	return id, file.Close()
}
