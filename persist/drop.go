package persist

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

// ErrDrops says that a server would start, but drop the end of its log, which the
// machine had not on disk when it went down.
var ErrDrops = errors.New("the end of the log is torn, and a start drops it")

// A Drop is the end of a log that is cut off as the log is opened.
type Drop struct {
	File   string
	Offset int64 // in File, where it begins
	Bytes  int64
	// Entries are at least so many, with Decisions in those that can still be read.
	First, Entries, Decisions int64
	// Unfinished says that it is the write that a process was killed in: nothing of it
	// was answered.
	Unfinished bool
}

// String describes the loss, for people.
func (d *Drop) String() string {
	if d.Unfinished {
		return fmt.Sprintf("%s ends at byte %d with %d bytes of a write that was not finished when the process was killed: nothing of it was answered", d.File, d.Offset, d.Bytes)
	}
	return fmt.Sprintf("%s is torn at byte %d, as the machine went down before it was on disk: %d bytes, %d or more entries from %d on, and %d decisions that can be read in them",
		d.File, d.Offset, d.Bytes, d.Entries, d.First, d.Decisions)
}

// loses says whether something of it may have been answered.
func (d *Drop) loses() bool { return d != nil && !d.Unfinished }

// Warn tells of it.
func (d *Drop) Warn(log *slog.Logger) {
	what := "the end of the log is torn and cut off: decisions are lost that were not on disk when the machine went down"
	if d.Unfinished {
		what = "a write that was not finished when the process was killed is cut off the log: nothing of it was answered"
	}
	log.Warn(what, "file", d.File, "byte", d.Offset, "bytes", d.Bytes, "first_entry", d.First, "entries", d.Entries, "decisions", d.Decisions)
}

// mayDrop is what of the tail is to be cut off, nil if it ends well. If its end is not
// what the end of a process, or unless it is the same boot that of the machine, leaves
// there it is a *CorruptError: a head that is none; in the same boot, anything but one
// write that was not finished; in another one, an entry behind the first missing one
// that was written when that was known to be on disk.
func mayDrop(fs vfs.FS, name string, c *codec, end segmentEnd, sameBoot bool) (*Drop, error) {
	if end.reason == "" {
		return nil, nil
	}
	damage := &CorruptError{File: name, Offset: end.offset, Reason: end.reason, Cut: true}
	if end.junk {
		return nil, damage
	}
	d := &Drop{File: name, Offset: end.offset, Bytes: end.data - end.offset, First: int64(end.last + 1), Entries: 1}
	if sameBoot && end.unfinished {
		d.Unfinished = true
		return d, nil
	}
	file, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	found, err := lookBehind(newReadAhead(file, end.size), c, end)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d.Entries, d.Decisions = max(int64(found.last)-int64(end.last), 1), found.decisions
	switch {
	case found.synced > end.last:
		damage.Reason += fmt.Sprintf(", where entry %d was on disk when entry %d was written", end.last+1, found.index)
	case sameBoot:
		damage.Reason += fmt.Sprintf(", and the machine has not gone down since: %d bytes, %d or more entries with %d decisions that can be read", d.Bytes, d.Entries, d.Decisions)
	default:
		return d, nil
	}
	return nil, damage
}

// behind is what was found behind the end of what is good.
type behind struct {
	last          uint64 // the highest index of a whole entry
	index, synced uint64 // of the one with the largest synced
	decisions     int64
}

// lookBehind looks for whole entries behind the end, wherever frames may begin.
func lookBehind(file *readAhead, c *codec, end segmentEnd) (found behind, err error) {
	var decoder Decoder
	at := max(end.offset, segmentHead)
	for at+recordHeader <= end.size {
		b, err := file.at(at, recordHeader)
		if err != nil {
			return found, err
		}
		n := 8
		if claimed, ok := c.claims(b, end.size-at); ok {
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

func (f *behind) add(r *record, decoder *Decoder) {
	f.last = max(f.last, r.index)
	if r.synced >= f.synced {
		f.index, f.synced = r.index, r.synced
	}
	if r.Type != raft.LogCommand {
		return
	}
	// What is no entry of decisions has none.
	_ = decoder.Decode(r.Data, func(_ engine.Instant, b *engine.Batch) error {
		f.decisions += int64(len(b.Ops))
		return nil
	})
}
