package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// An Applying marks the entry of the log that this process applies, in a file that is mapped
// into memory. The mark survives a process that is killed or panics, and so the next process
// knows the entry. An entry that has ended maxDeaths processes in a row is not applied again.
//
// The mark is written without a system call and is never synced: after the machine has gone
// down it is ignored. On systems other than Linux, and on file systems in memory, there is no
// mark and no death is noticed.
//
// A nil Applying marks nothing. Concurrency: one goroutine at a time.
type Applying struct {
	mark  *applyingMark
	unmap func() error
	fs    vfs.FS
	dir   string // with APPLYING and DEATHS
	data  string // the data directory, for messages
	log   *slog.Logger

	suspect    Deaths
	from, span uint64 // the suspects are from to from+span
}

// An applyingMark is the content of APPLYING, in the byte order of the machine. One of the
// entries first to last is being applied; last 0: none, first 0: it is last.
type applyingMark struct{ last, first uint64 }

const (
	applyingName = "APPLYING"
	// applyingBytes is the size of APPLYING. All of it is written before it is mapped: a store
	// to a hole of a file needs space on the disk and can end the process.
	applyingBytes = 4096
	// maxDeaths is the number of processes that an entry may end.
	maxDeaths = 3
)

// Deaths are the ends of processes at an entry of the log.
type Deaths struct {
	// First and Last are the entries of which each process applied at least one. They are
	// equal if the entry is known. Last 0: there were no deaths.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Count int    `json:"count"` // processes in a row
	// What is a description of the entry; empty: the entry has not been described yet.
	What string `json:"what,omitempty"`
}

// DEATHS holds the Deaths that the next process must know.
const (
	deathsName   = "DEATHS"
	deathsWhat   = "deaths at an entry"
	deathsFormat = 1
)

// noSuspects is the value of Applying.from without suspects. No entry has this index.
const noSuspects = ^uint64(0)

// OpenApplying opens the mark in dir, a part of the data directory data. It reads the mark of the
// last process, if sameBoot tells that the machine has not gone down since. A mark that can not
// be made is logged: the process goes on without it.
func OpenApplying(fsys vfs.FS, dir, data string, sameBoot bool, log *slog.Logger) (*Applying, error) {
	a := &Applying{mark: new(applyingMark), fs: fsys, dir: dir, data: data, log: log, from: noSuspects}
	suspect, err := readDeaths(fsys, dir)
	if err != nil {
		return nil, err
	}
	name := fsys.PathJoin(dir, applyingName)
	left, err := readApplying(fsys, name)
	if err != nil {
		return nil, err
	}
	if sameBoot && left.last > 0 {
		suspect = suspect.and(left)
		a.write(suspect)
	}
	a.setSuspect(suspect)
	if err := a.mapFile(name); err != nil {
		log.Warn("an entry that ends this process will not be known to the next process", "file", name, "error", err)
	}
	a.mark.first, a.mark.last = 0, 0
	return a, nil
}

// readDeaths reads DEATHS. A damaged file counts as none, because it holds no state.
func readDeaths(fsys vfs.FS, dir string) (d Deaths, err error) {
	err = ReadSealed(fsys, fsys.PathJoin(dir, deathsName), deathsWhat, deathsFormat, &d)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*CorruptError)) {
		return Deaths{}, nil
	}
	return d, err
}

// readApplying reads a mark. Without the file the mark is zero.
func readApplying(fsys vfs.FS, name string) (m applyingMark, err error) {
	b, err := readSmall(fsys, name, applyingBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil && len(b) == applyingBytes {
		m.last, m.first = binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])
	}
	return m, err
}

// and returns the deaths with one more, at a mark.
func (d Deaths) and(m applyingMark) Deaths {
	if m.first == 0 || m.first > m.last {
		m.first = m.last
	}
	next := Deaths{First: m.first, Last: m.last, Count: 1}
	if d.First <= m.last && m.first <= d.Last {
		next.Count = d.Count + 1
	}
	if d.First == m.first && d.Last == m.last {
		next.What = d.What
	}
	return next
}

// exact reports whether the entry is known.
func (d *Deaths) exact() bool { return d.First == d.Last }

// mapFile maps the mark, if the file system allows it.
func (a *Applying) mapFile(name string) error {
	if !canMap(a.fs, a.dir) {
		return nil
	}
	file, err := a.fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != applyingBytes {
		_, err = file.WriteAt(make([]byte, applyingBytes), 0)
	}
	if err == nil {
		var b []byte
		if b, a.unmap, err = mapShared(file.Fd(), applyingBytes); err == nil {
			a.mark = (*applyingMark)(unsafe.Pointer(unsafe.SliceData(b)))
		}
	}
	return errors.Join(err, file.Close())
}

// canMap reports whether files in dir can be mapped: those of a file system in memory can not.
func canMap(fsys vfs.FS, dir string) bool {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	return mapsFiles && d.Fd() != vfs.InvalidFd
}

// Begin marks an entry. It reports whether the entry is a suspect: then the caller must apply no
// other entry meanwhile, and call Again before and Survived after it. Cost: one store.
func (a *Applying) Begin(index uint64) (suspect bool) {
	if a == nil {
		return false
	}
	a.mark.last = index
	return index-a.from <= a.span
}

// Since marks the first entry that is being applied; the entry of the last Begin is the last. 0:
// only that one is.
func (a *Applying) Since(first uint64) {
	if a != nil {
		a.mark.first = first
	}
}

// End marks that no entry is being applied. Cost: one store.
func (a *Applying) End() {
	if a != nil {
		a.mark.last = 0
	}
}

// Again logs that an entry at which a process ended is applied again, and keeps its description
// for the next process.
func (a *Applying) Again(index uint64, describe func() string) {
	if !a.suspect.exact() {
		return
	}
	a.suspect.What = describe()
	a.write(a.suspect)
	a.log.Warn("the last process ended while it applied this entry of the log; it is applied again",
		"entry", index, "what", a.suspect.What, "processes_ended", a.suspect.Count, "most", maxDeaths, "to_skip_it", a.skipCommand(index))
}

// Survived tells that a suspect has been applied.
func (a *Applying) Survived(index uint64) {
	if index != a.suspect.Last {
		return
	}
	a.log.Info("the entry at which the last process ended has been applied", "entry", index)
	a.forget()
}

// Check returns a *PoisonError if the suspect must not be applied again. It forgets a suspect that
// will not be applied: up to the entry after there is a snapshot, last is the end of the log, and
// skipped has the entries that are skipped.
func (a *Applying) Check(after, last uint64, skipped SkippedEntries) error {
	d := a.suspect
	switch {
	case d.Last == 0:
	case d.First > last:
		a.log.Warn("the last process ended while it applied an entry that is not in the log, so that it is gone", "entry", d.First, "log_ends_with", last)
		a.forget()
	case d.Last <= after || d.exact() && skipped.have(d.Last):
		a.forget()
	case !d.exact():
		a.log.Warn("the last process ended while it applied one of several entries of the log; they are applied again one at a time",
			"first", d.First, "last", d.Last, "processes_ended", d.Count)
	case d.Count >= maxDeaths:
		return &PoisonError{Deaths: d, Remedy: a.skipCommand(d.Last), Record: a.fs.PathJoin(a.dir, deathsName)}
	}
	return nil
}

// skipCommand returns the command line that skips an entry.
func (a *Applying) skipCommand(index uint64) string {
	return fmt.Sprintf("limitsrv recover %s --skip-entry %d", a.data, index)
}

// Remedy appends the way out to the error of an entry that can not be applied.
func (a *Applying) Remedy(index uint64, err error) error {
	if a == nil || errors.As(err, new(*NewerError)) {
		return err
	}
	return fmt.Errorf("%w (to go on without the entry: %s)", err, a.skipCommand(index))
}

// setSuspect sets the suspects.
func (a *Applying) setSuspect(d Deaths) {
	a.suspect = d
	if a.from, a.span = noSuspects, 0; d.Last > 0 {
		a.from, a.span = d.First, d.Last-d.First
	}
}

// forget removes the suspects.
func (a *Applying) forget() {
	a.setSuspect(Deaths{})
	if err := removeDeaths(a.fs, a.dir); err != nil {
		a.log.Warn("cannot remove the record of an entry that was applied", "dir", a.dir, "error", err)
	}
}

// write writes DEATHS. A failure is logged: then deaths are counted from here on.
func (a *Applying) write(d Deaths) {
	if err := WriteSealed(a.fs, a.dir, deathsName, deathsWhat, deathsFormat, d); err != nil {
		a.log.Warn("cannot record the entry at which the last process ended", "dir", a.dir, "error", err)
	}
}

// removeDeaths removes DEATHS, if it is there.
func removeDeaths(fsys vfs.FS, dir string) error {
	if err := fsys.Remove(fsys.PathJoin(dir, deathsName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close releases the mark. Requires: no entry is being applied.
func (a *Applying) Close() error {
	if a == nil || a.unmap == nil {
		return nil
	}
	a.mark = new(applyingMark)
	return a.unmap()
}

// A PoisonError reports an entry of the log that has ended so many processes that it is not
// applied again.
type PoisonError struct {
	Deaths
	Remedy string // the command line that skips it
	Record string // the file to remove so that it is applied again
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("entry %d of the log ended the last %d processes that applied it (%s), so it is not applied again. To go on without it: %s (in a cluster on each node, while all nodes are stopped). To have it applied once more, for example with more memory: remove %s",
		e.Last, e.Count, e.What, e.Remedy, e.Record)
}
