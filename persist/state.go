package persist

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

// A State holds the contents of a backup or of the data directory of a single node.
type State struct {
	Origin
	Backup bool // no server has started on it
	Drops  bool // the torn end of the log is not included: see ErrDrops
	Seed   Seed // of the engine's hashes
	Engine *engine.Engine
}

// ReadState reads a backup or the data directory of a single node. It changes only the
// file LOCK. Like a start it rejects damaged data. A nil fsys is the operating system's.
// Requires: no server uses the directory. commands carries out the calls in the log; nil: a
// log with calls can not be read.
//
// Cost: it reads the whole directory twice, once to verify it.
func ReadState(ctx context.Context, fsys vfs.FS, dir string, commands engine.Commands) (s State, err error) {
	v, err := newVerifier(fsys, dir, commands, func(string) {})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, v.dir.Close()) }()
	info, drops, err := v.verifyAll()
	if err != nil {
		return s, fmt.Errorf("%w in %s (for details: limitsrv check %s; to repair: limitsrv check --repair %s)", err, dir,
			dir, dir)
	}
	if s.Origin, err = readMark(v.dir.FS, dir); err == nil {
		s.Backup = true
	} else {
		s.Origin = Origin{ID: v.dir.ID}
	}
	s.Seed, s.Drops = v.dir.Seed, drops
	s.Engine = engine.New(engine.Options{Seed: s.Seed, Commands: commands})
	s.Engine.SetCounting(false)
	if info.Generation > 0 {
		if err := newSnapshots(v.dir.FS, v.dir.join(snapshotsDir), SnapshotOptions{}).Load(ctx, info, s.Engine,
			runtime.GOMAXPROCS(0), nil); err != nil {
			return s, err
		}
		s.Engine.SetTime(info.Now)
		s.Taken = info.Taken
	}
	s.Index, err = v.replay(ctx, info, s.Engine)
	s.Now = s.Engine.Now()
	return s, err
}

// replay applies the log after a snapshot and returns the index of the last entry.
func (v *verifier) replay(ctx context.Context, after Info, to *engine.Engine) (last uint64, err error) {
	last = after.LogIndex
	name, there, err := v.logAfter(after)
	if err != nil || !there {
		return last, err
	}
	replay := newReplay(to, v.dir.join(name), nil, after.LogIndex+1)
	defer replay.finish()
	err = ReadLog(v.dir.FS, v.dir.join(name), func(entry *raft.Log) error {
		if entry.Index <= after.LogIndex {
			return ctx.Err()
		}
		if err := replay.entry(entry.Index, entry.Data); err != nil {
			return err
		}
		last = entry.Index
		return ctx.Err()
	})
	if isMissing(err) { // the log was being created
		err = nil
	}
	return last, err
}
