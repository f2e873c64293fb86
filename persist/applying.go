package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// An Applying records the entry of the log that this process is applying, in a file that is mapped
// into memory. The record survives a process that is killed or panics, so the next process can read
// it. An entry that has ended maxDeaths processes in a row is not applied again.
//
// A write to the mark is a store to memory and is never synced. After the machine has gone down the
// mark is ignored. So no death is detected on systems other than Linux, where the boot is unknown.
// On file systems in memory there is no mark.
//
// A nil Applying does nothing. Concurrency: not safe for concurrent use.
type Applying struct {
	mark  *applyingMark
	unmap func() error
	fs    vfs.FS
	dir   string // the directory with APPLYING and DEATHS
	data  string // the data directory, for messages
	log   *slog.Logger

	suspect    Deaths
	from, span uint64 // the suspects are the entries from to from+span
}

// An applyingMark is the content of APPLYING, in the byte order of the machine. One of the entries
// first to last is being applied. last 0: no entry. first 0: the entry is last.
type applyingMark struct{ last, first uint64 }

const (
	applyingName = "APPLYING"
	// applyingBytes is the size of APPLYING. The whole file is written before it is mapped,
	// because a store to a hole of the file needs disk space and could end the process.
	applyingBytes = 4096
	// maxDeaths is the number of consecutive processes that an entry may end.
	maxDeaths = 3
)

// Deaths describes the processes that ended while they applied an entry of the log.
type Deaths struct {
	// First and Last bound the entry. They are equal if the entry is known. Each process ended
	// while it applied entries in this range or in an overlapping range. Last 0: no process
	// ended.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Count int    `json:"count"` // consecutive processes
	// What describes the entry in words. It is empty until the entry is described.
	What string `json:"what,omitempty"`
}

// DEATHS holds the Deaths for the next process.
const (
	deathsName   = "DEATHS"
	deathsWhat   = "deaths at an entry"
	deathsFormat = 1
)

// noSuspects is the value of Applying.from if there are no suspects. No entry has this index.
const noSuspects = ^uint64(0)

// OpenApplying opens the mark in dir, which is in the data directory data. It reads the mark of the
// last process if sameBoot is true: the machine has not gone down since. If it can't create a mark,
// it logs that, and the process continues without a mark.
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

// readDeaths reads DEATHS. It treats a damaged file as empty, because the file holds no state.
func readDeaths(fsys vfs.FS, dir string) (d Deaths, err error) {
	err = ReadSealed(fsys, fsys.PathJoin(dir, deathsName), deathsWhat, deathsFormat, &d)
	if isMissing(err) || errors.As(err, new(*CorruptError)) {
		return Deaths{}, nil
	}
	return d, err
}

// readApplying reads the mark. It returns the zero mark if there is no file.
func readApplying(fsys vfs.FS, name string) (m applyingMark, err error) {
	b, err := readSmall(fsys, name, applyingBytes)
	if isMissing(err) {
		return m, nil
	}
	if err == nil && len(b) == applyingBytes {
		m.last, m.first = binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])
	}
	return m, err
}

// and returns d after another process that ended at mark m.
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

// exact reports whether the entry is known, and not only a range.
func (d *Deaths) exact() bool { return d.First == d.Last }

// mapFile maps the mark into memory, if the file system allows that.
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
		if b, err = syscall.Mmap(int(file.Fd()), 0, applyingBytes, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_SHARED); err == nil {
			a.mark, a.unmap = (*applyingMark)(unsafe.Pointer(unsafe.SliceData(b))), func() error { return syscall.Munmap(b) }
		}
	}
	return errors.Join(err, file.Close())
}

// canMap reports whether files in dir can be mapped. Files of a file system in memory can't.
func canMap(fsys vfs.FS, dir string) bool {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	return d.Fd() != vfs.InvalidFd
}

// Begin marks an entry. It reports whether the entry is a suspect. If so, the caller must apply no
// other entry at the same time, and must call Again before applying it and Survived afterwards.
// Cost: one store.
func (a *Applying) Begin(index uint64) (suspect bool) {
	if a == nil {
		return false
	}
	a.mark.last = index
	return index-a.from <= a.span
}

// Since sets the first of the entries that are being applied; the last is the entry of the last
// Begin. 0: only that entry.
func (a *Applying) Since(first uint64) {
	if a != nil {
		a.mark.first = first
	}
}

// End records that no entry is being applied. Cost: one store.
func (a *Applying) End() {
	if a != nil {
		a.mark.last = 0
	}
}

// Again logs that a suspect is applied again. It writes the suspect's description to DEATHS for the
// next process.
func (a *Applying) Again(index uint64, describe func() string) {
	if !a.suspect.exact() {
		return
	}
	a.suspect.What = describe()
	a.write(a.suspect)
	a.log.Warn("the last process ended while it applied this entry of the log; it is applied again",
		"entry", index, "what", a.suspect.What, "processes_ended", a.suspect.Count, "most", maxDeaths, "to_skip_it",
		a.skipCommand(index))
}

// Survived records that the suspect has been applied.
func (a *Applying) Survived(index uint64) {
	if index != a.suspect.Last {
		return
	}
	a.log.Info("the entry at which the last process ended has been applied", "entry", index)
	a.forget()
}

// Check returns a *PoisonError if the suspect must not be applied again. It removes a suspect that
// will not be applied: a snapshot up to the entry after includes it, the log ends with the entry
// last before it, or skipped has it.
func (a *Applying) Check(after, last uint64, skipped SkippedEntries) error {
	d := a.suspect
	switch {
	case d.Last == 0:
	case d.First > last:
		a.log.Warn("the last process ended while it applied an entry that is not in the log, so that it is gone", "entry",
			d.First, "log_ends_with", last)
		a.forget()
	case d.Last <= after || d.exact() && skipped.have(d.Last):
		a.forget()
	case !d.exact():
		a.log.Warn("the last process ended while it applied one of several entries of the log; they are applied again one "+
			"at a time",
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

// Remedy appends the command that skips the entry to the error of an entry that can't be applied.
func (a *Applying) Remedy(index uint64, err error) error {
	if a == nil || errors.As(err, new(*NewerError)) {
		return err
	}
	return fmt.Errorf("%w (to go on without the entry: %s)", err, a.skipCommand(index))
}

func (a *Applying) setSuspect(d Deaths) {
	a.suspect = d
	if a.from, a.span = noSuspects, 0; d.Last > 0 {
		a.from, a.span = d.First, d.Last-d.First
	}
}

// forget removes the suspects and DEATHS.
func (a *Applying) forget() {
	a.setSuspect(Deaths{})
	if err := removeIfThere(a.fs, a.fs.PathJoin(a.dir, deathsName)); err != nil {
		a.log.Warn("cannot remove the record of an entry that was applied", "dir", a.dir, "error", err)
	}
}

// write writes DEATHS. It logs a failure; earlier deaths are then not counted.
func (a *Applying) write(d Deaths) {
	if err := WriteSealed(a.fs, a.dir, deathsName, deathsWhat, deathsFormat, d); err != nil {
		a.log.Warn("cannot record the entry at which the last process ended", "dir", a.dir, "error", err)
	}
}

// Close releases the mark. Requires: no entry is being applied.
func (a *Applying) Close() error {
	if a == nil || a.unmap == nil {
		return nil
	}
	a.mark = new(applyingMark)
	return a.unmap()
}

// A PoisonError reports an entry of the log that has ended maxDeaths processes, and is therefore
// not applied again.
type PoisonError struct {
	Deaths
	Remedy string // the command line that skips the entry
	Record string // the file to remove so that the entry is applied again
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("entry %d of the log ended the last %d processes that applied it (%s), so it is not applied "+
		"again. To go on without it: %s (in a cluster on each node, while all nodes are stopped). To have it applied once "+
		"more, for example with more memory: remove %s",
		e.Last, e.Count, e.What, e.Remedy, e.Record)
}
