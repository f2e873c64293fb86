package persist

import (
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

// ErrDrops reports that a server would start, but drop the end of its log, which was not
// on disk when the machine went down.
var ErrDrops = errors.New("the end of the log is torn, and a start would drop it")

// A Drop is the end of a log that is cut off when the log is opened.
type Drop struct {
	File   string
	Offset int64 // of its first byte in File
	Bytes  int64
	// Entries is a lower bound; Decisions counts those in entries that can still be read.
	First, Entries, Decisions int64
	// Unfinished reports that the end is a write that was cut off when the process was
	// killed: no part of it was answered.
	Unfinished bool
}

// String describes the loss for people.
func (d *Drop) String() string {
	if d.Unfinished {
		return fmt.Sprintf("%s ends at byte %d with %d bytes of a write that was unfinished when the process was killed: "+
			"none of it was answered", d.File, d.Offset, d.Bytes)
	}
	return fmt.Sprintf("%s is torn at byte %d because the machine went down before it was synced: %d bytes, at least %d "+
		"entries from %d on, with %d readable decisions",
		d.File, d.Offset, d.Bytes, d.Entries, d.First, d.Decisions)
}

// losesAnswered reports whether some of the lost decisions may have been answered.
func (d *Drop) losesAnswered() bool { return d != nil && !d.Unfinished }

// Warn logs the loss.
func (d *Drop) Warn(log *slog.Logger) {
	what := "torn end of the log cut off: decisions that were not on disk when the machine went down are lost"
	if d.Unfinished {
		what = "unfinished write cut off the log: the process was killed during it, none of it was answered"
	}
	log.Warn(what, "file", d.File, "byte", d.Offset, "bytes", d.Bytes, "first_entry", d.First, "entries", d.Entries,
		"decisions", d.Decisions)
}

// planDrop returns the end of the last segment that must be cut off; nil: no end must. It returns
// a *CorruptError if neither a killed process nor, in another boot, a power failure can leave such
// an end:
//
//   - the head of the file is wrong;
//   - an intact entry can't be applied;
//   - a later entry shows that the first missing entry had been synced before it was written;
//   - in the same boot, the end is not one unfinished write without an entry after the torn
//     entry.
func planDrop(fs vfs.FS, name string, c *codec, end segmentEnd, sameBoot bool) (*Drop, error) {
	if end.reason == "" {
		return nil, nil
	}
	damage := &CorruptError{File: name, Offset: end.offset, Reason: end.reason}
	if end.junk || end.refused {
		return nil, damage
	}
	d := &Drop{File: name, Offset: end.offset, Bytes: end.data - end.offset, First: int64(end.last + 1), Entries: 1}
	file, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	found, err := findTrailing(newReadAhead(file, end.size), c, end)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d.Entries, d.Decisions = max(int64(found.last)-int64(end.last), 1), found.decisions
	switch {
	case found.synced > end.last:
		damage.Reason += fmt.Sprintf(", where entry %d was on disk when entry %d was written", end.last+1, found.index)
	case sameBoot && end.unfinished && found.last <= end.lastWhole+1: // the torn entry may lack only its padding
		d.Unfinished = true
		return d, nil
	case sameBoot:
		damage.Reason += fmt.Sprintf(", and the machine has not gone down since: %d bytes, at least %d entries with %d "+
			"readable decisions", d.Bytes, d.Entries, d.Decisions)
	default:
		return d, nil
	}
	return nil, damage
}

// trailingRecords summarises the whole entries found after the valid end of a segment.
type trailingRecords struct {
	last          uint64 // highest index of a whole entry
	index, synced uint64 // of the entry with the largest synced
	decisions     int64
}

// findTrailing searches for whole entries after the end, at every offset where frames may
// start.
func findTrailing(file *readAhead, c *codec, end segmentEnd) (found trailingRecords, err error) {
	decoder := Decoder{Commands: anyCommands{}}
	at := max(end.offset, segmentHead)
	for at < end.data { // the magic of an entry is not 0
		b, err := file.at(at, recordHeader)
		if err != nil {
			return found, err
		}
		n := 8
		if claimed, ok := c.recordLength(b, end.size-at); ok {
			if b, err = file.at(at, claimed); err != nil {
				return found, err
			}
			var r record
			if c.read(b, &r) == nil && r.index > end.last {
				found.add(&r, &decoder)
				n = (claimed + 7) &^ 7
			}
		}
		at += int64(n)
	}
	return found, nil
}

// anyCommands accepts all calls: they are only counted.
type anyCommands struct{ engine.Commands }

// Check accepts every call, because the calls are not executed.
func (anyCommands) Check(*engine.Call) error { return nil }

// Level returns the highest level, so that a call of any level is read.
func (anyCommands) Level() uint8 { return math.MaxUint8 }

func (f *trailingRecords) add(r *record, decoder *Decoder) {
	f.last = max(f.last, r.index)
	if r.synced >= f.synced {
		f.index, f.synced = r.index, r.synced
	}
	if r.Type != raft.LogCommand {
		return
	}
	// Other data has no decisions.
	_ = decoder.Decode(r.Data, func(_ engine.Instant, b *engine.Batch) error {
		f.decisions += int64(len(b.Ops))
		return nil
	})
}
