package persist

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft-wal/segment"

	"limitsrv/engine"
)

// ErrDamaged reports that a part of a data directory cannot be read.
var ErrDamaged = errors.New("data is damaged")

// A verifier verifies a data directory that no server uses.
type verifier struct {
	dir      Dir
	report   func(line string)
	sameBoot bool // the machine has not gone down since the log was open
	decoder  Decoder
}

// Check verifies a data directory that no server uses: its identity, every block of its snapshots,
// every entry of its log, and that the log continues from the newest snapshot. It decodes the
// entries that a start would replay as a start does, with commands for their calls. If commands is
// nil, a log with calls counts as damaged. It changes nothing and reports its findings.
//
// Errors: ErrDamaged if a server would not start on all of it; ErrDrops if a server would start
// without the end of the log; another error for the directory of a node of a cluster. A nil fsys is
// the operating system's.
func Check(fsys vfs.FS, dir string, commands engine.Commands, report func(line string)) error {
	v, err := newVerifier(fsys, dir, commands, report)
	if err != nil {
		return err
	}
	defer v.dir.Close()
	_, drops, err := v.verifyAll()
	if err == nil && drops {
		return ErrDrops
	}
	return err
}

// verifyAll reports on all parts of the directory. It returns the newest snapshot, zero if there
// are no snapshots, and whether a start drops the end of the log after it. Its error is
// ErrDamaged.
func (v *verifier) verifyAll() (newest Info, drops bool, err error) {
	damaged := v.identity() != nil
	good, bad := v.snapshots()
	if len(good) > 0 {
		newest = good[0]
	}
	drops, err = v.log(newest)
	if err != nil || damaged || bad {
		return newest, drops, ErrDamaged
	}
	return newest, drops, nil
}

func newVerifier(fsys vfs.FS, dir string, commands engine.Commands, report func(line string)) (*verifier, error) {
	if fsys == nil {
		fsys = vfs.Default
	}
	v := &verifier{dir: Dir{Path: dir, FS: fsys}, report: report, decoder: Decoder{Commands: commands}}
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list data directory %s: %w", dir, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s is empty: a server would create a data directory in it", dir)
	}
	if err := v.dir.refuseMember(); err != nil {
		return nil, err
	}
	// A data directory that lost its IDENTITY is damaged: all other directories are foreign.
	if err := v.dir.checkOwned(); err != nil && !errors.As(err, new(*CorruptError)) {
		return nil, err
	}
	if err := v.dir.takeLock(); err != nil {
		return nil, err
	}
	v.boot()
	return v, nil
}

// boot determines whether the machine has gone down since the log was open.
func (v *verifier) boot() {
	var err error
	if v.sameBoot, err = isSameBoot(v.dir.FS, v.dir.Path, BootID()); err != nil {
		v.report(fmt.Sprintf("%s: %v; cannot determine whether the machine has gone down", bootName, err))
	}
}

func (v *verifier) identity() error {
	err := ReadSealed(v.dir.FS, v.dir.join(identityName), identityWhat, identityFormat, &v.dir.Identity)
	if err != nil {
		v.report(fmt.Sprintf("%s: %v", identityName, err))
		return err
	}
	v.report(fmt.Sprintf("%s: good, created %s", identityName, v.dir.Created.Format(time.RFC3339)))
	return nil
}

// snapshots returns the intact snapshots, the newest first, and whether there are damaged
// snapshots.
func (v *verifier) snapshots() (good []Info, bad bool) {
	fsys, dir := v.dir.FS, v.dir.join(snapshotsDir)
	if _, err := fsys.Stat(dir); isMissing(err) {
		v.report("snapshots: none")
		return nil, false
	}
	good, err := CheckSnapshots(context.Background(), fsys, dir, SnapshotOptions{}, runtime.GOMAXPROCS(0),
		engine.CheckBlock)
	for _, info := range good {
		v.report(fmt.Sprintf("snapshot %d: good, %d keys, %d bytes, of %s, up to entry %d of %s",
			info.Generation, info.Keys, info.Bytes, info.Taken.UTC().Format(time.RFC3339), info.LogIndex, info.LogDir))
	}
	if err != nil {
		v.report(fmt.Sprintf("snapshots: %v", err))
	} else if len(good) == 0 {
		v.report("snapshots: none")
	}
	return good, err != nil
}

// log verifies the log after a snapshot, or after an empty state. drops: a start drops the
// end of the log, and some of its decisions may have been answered.
func (v *verifier) log(after Info) (drops bool, err error) {
	name, there, err := v.logAfter(after)
	switch {
	case err != nil:
		v.report(err.Error())
		return false, err
	case !there:
		v.report("log: none")
		return false, nil
	}
	found, err := checkLog(v.dir.FS, v.dir.join(name), v.sameBoot, v.replayable(after),
		func(line string) { v.report(name + ": " + line) })
	if isMissing(err) {
		v.report(name + ": empty")
		return false, nil
	}
	if err == nil {
		err = v.coversSnapshot(found, name, after)
	}
	if err != nil {
		v.report(fmt.Sprintf("%s: %v", name, err))
		return false, err
	}
	return found.drop.losesAnswered(), nil
}

// replayable returns a function that decodes an entry after a snapshot as a replay does. It returns
// a *refusal or a *NewerError.
func (v *verifier) replayable(after Info) func(r *record) error {
	return func(r *record) error {
		if r.index <= after.LogIndex {
			return nil
		}
		err := v.decoder.Decode(r.Data, func(engine.Instant, *engine.Batch) error { return nil })
		if err == nil || errors.As(err, new(*NewerError)) {
			return err
		}
		return &refusal{r.index, err}
	}
}

// coversSnapshot returns an error if an intact log does not continue from a snapshot, or
// ends before the entry in STOPPED.
func (v *verifier) coversSnapshot(found *logRepair, name string, after Info) error {
	stopped, err := readStopped(v.dir.FS, v.dir.Path, name)
	if err != nil {
		v.report(fmt.Sprintf("%s: %v; cannot check whether the end of the log is missing", stoppedName, err))
	}
	return v.missingEntries(found, name, after, stopped)
}

// missingEntries returns an error that describes the entries missing in a log once it is
// repaired.
func (v *verifier) missingEntries(r *logRepair, name string, after Info, stopped uint64) error {
	path, tail := v.dir.join(name), segment.FileName(*r.state.tail())
	switch err := checkLogStart(path, r.first(), v.dir.join(snapshotsDir), after.LogIndex); {
	case err != nil:
		return err
	case r.last < after.LogIndex:
		return fmt.Errorf("%s ends in %s with entry %d, but the snapshot ends at %d", path, tail, r.last, after.LogIndex)
	case r.last < stopped:
		return fmt.Errorf("%s is damaged in %s: it ends with entry %d, but entry %d was on disk when the server stopped. "+
			"Lost: entries %d to %d",
			path, tail, r.last, stopped, r.last+1, stopped)
	}
	return nil
}

// logAfter returns the name of the log that continues from a snapshot, and whether it
// exists. It does not in a backup and in a directory without state.
func (v *verifier) logAfter(after Info) (name string, there bool, err error) {
	name = after.LogDir
	if after.Generation == 0 {
		name = logName(1)
	}
	_, err = v.dir.FS.Stat(v.dir.join(name))
	switch {
	case err == nil:
		return name, true, nil
	case !isMissing(err):
		return name, false, err
	case after.Generation > 0 && !isBackup(v.dir.FS, v.dir.Path):
		return name, false, fmt.Errorf("%s is missing, with all decisions since snapshot %d", name, after.Generation)
	}
	return name, false, nil
}

// Repair makes a data directory that no server uses usable by a server. Before it drops data it
// calls ask with a description of the loss; if ask returns false, Repair returns an error.
// Unreadable data is moved to a directory damaged-TIME below dir. commands is as for Check.
func Repair(fsys vfs.FS, dir string, commands engine.Commands, report func(line string),
	ask func(question string) bool) error {
	v, err := newVerifier(fsys, dir, commands, report)
	if err != nil {
		return err
	}
	defer v.dir.Close()
	r := repairer{verifier: v, ask: ask, aside: v.dir.join("damaged-" + time.Now().UTC().Format("20060102T150405"))}
	return r.repair()
}

type repairer struct {
	*verifier
	ask   func(question string) bool
	aside string
}

var errRefused = errors.New("nothing more was changed because you answered no")

func (r *repairer) repair() error {
	identity := r.identity()
	good, bad := r.snapshots()
	if bad {
		if err := r.setSnapshotsAside(good); err != nil {
			return err
		}
	}
	var newest Info
	if len(good) > 0 {
		newest = good[0]
	}
	if identity != nil {
		if err := r.newIdentity(newest); err != nil {
			return err
		}
	}
	return r.repairLog(newest)
}

// setSnapshotsAside drops the records of damaged snapshots if there is an intact snapshot.
// Otherwise it sets all snapshots aside, together with the logs that continue from them,
// unless the log is complete from its first entry.
func (r *repairer) setSnapshotsAside(good []Info) error {
	if len(good) == 0 && r.logIsWhole() {
		if !r.ask("No snapshot can be read, but the log is complete. Set the snapshots aside? Nothing is lost.") {
			return errRefused
		}
		return r.setAside(func(name string) bool { return name == snapshotsDir })
	}
	if len(good) == 0 {
		if !r.ask("No snapshot can be read. Set them aside, with the log? All keys are then fully reset.") {
			return errRefused
		}
		return r.setAside(func(name string) bool {
			return name == snapshotsDir || logNumber(name) > 0 ||
				name == stoppedName
		})
	}
	question := fmt.Sprintf("Go back to snapshot %d of %s, and the log after it, and drop the damaged snapshots?",
		good[0].Generation, good[0].Taken.UTC().Format(time.RFC3339))
	if !r.ask(question) {
		return errRefused
	}
	return dropDamaged(r.dir.FS, r.dir.join(snapshotsDir), good)
}

// logIsWhole reports whether the first log exists, from its first entry on, and is
// intact.
func (r *repairer) logIsWhole() bool {
	plan, err := planRepair(r.dir.FS, r.dir.join(logName(1)), r.sameBoot, r.replayable(Info{}))
	return err == nil && plan.damage == nil && plan.first() == 1
}

// setAside moves the files and directories that match accepts to r.aside.
func (r *repairer) setAside(match func(name string) bool) error {
	fsys := r.dir.FS
	names, err := fsys.List(r.dir.Path)
	if err != nil {
		return err
	}
	if err := fsys.MkdirAll(r.aside, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if !match(name) {
			continue
		}
		to := fsys.PathJoin(r.aside, name)
		if err := fsys.Rename(r.dir.join(name), to); err != nil {
			return err
		}
		r.report(fmt.Sprintf("%s is now %s", r.dir.join(name), to))
	}
	return errors.Join(syncDir(fsys, r.aside), syncDir(fsys, r.dir.Path))
}

// newIdentity replaces a damaged identity. It takes the seed of the snapshot, if there is a
// snapshot; entries of the log do not depend on the seed.
func (r *repairer) newIdentity(of Info) error {
	if !r.ask("Write a new identity? The state does not depend on it.") {
		return errRefused
	}
	seed := of.Seed
	if of.Generation == 0 {
		seed = newSeed()
	}
	return writeIdentity(r.dir.FS, r.dir.Path, newIdentity(seed))
}

// repairLog cuts the log off at the damage, or sets it aside.
func (r *repairer) repairLog(after Info) error {
	name, there, err := r.logAfter(after)
	if err != nil {
		return r.setLogAside(err)
	}
	if !there {
		return nil
	}
	plan, err := planRepair(r.dir.FS, r.dir.join(name), r.sameBoot, r.replayable(after))
	if isMissing(err) {
		return nil
	}
	if errors.As(err, new(*NewerError)) {
		return err
	}
	if err != nil {
		return r.setLogAside(err)
	}
	if err := r.missingEntries(plan, name, after, 0); err != nil {
		return r.setLogAside(err)
	}
	loss := plan.describe()
	stopped, _ := readStopped(r.dir.FS, r.dir.Path, name) // if STOPPED is damaged there is no lower bound
	if err := r.missingEntries(plan, name, after, stopped); err != nil {
		loss = strings.TrimSpace(fmt.Sprintf("%s\n%v.", loss, err))
	}
	if loss == "" {
		return nil
	}
	if !r.ask(loss + " Continue without the lost data?") {
		return errRefused
	}
	if plan.last < stopped {
		if err := removeStopped(r.dir.FS, r.dir.Path); err != nil {
			return err
		}
	}
	return plan.perform(r.dir.FS, r.dir.join(name))
}

// setLogAside sets aside a log that does not continue from the snapshot.
func (r *repairer) setLogAside(why error) error {
	if !r.ask(fmt.Sprintf("%v. Set the log aside? The state of the snapshot remains.", why)) {
		return errRefused
	}
	if err := r.setAside(func(name string) bool { return logNumber(name) > 0 || name == stoppedName }); err != nil {
		return err
	}
	return markBackup(r.dir.FS, r.dir.Path, r.dir.ID)
}
