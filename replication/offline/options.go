// Package offline works on the data directory of a node that does not run: it checks it, and
// makes another directory from its state. It imports storage and persist, and knows no node.
package offline

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/raftfix"
	"limitsrv/replication/storage"
)

// Options configure Inspect and Recover.
type Options struct {
	Dir    string // the data directory
	Raft   string // for Recover: the address of the new member; empty: it is to be a single server
	Logger *slog.Logger
	// Commands carries out calls in the log; nil: a log with calls can not be read.
	Commands engine.Commands

	// For tests; nil means the system's own.
	FS     vfs.FS
	Stores func(dir string) (raft.StableStore, raft.SnapshotStore, error)
	Boot   func() string
	Level  int // the newest feature level of the log that is known
}

func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Stores == nil {
		logger := raftfix.NewLogger(o.Logger, func(string) bool { return true })
		o.Stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) {
			return storage.OpenStores(dir, 0, logger)
		}
	}
	if o.Boot == nil {
		o.Boot = persist.BootID
	}
}

// storage returns the options for the files in dir.
func (o *Options) storage(dir *persist.Dir) storage.Options {
	begun := time.Now()
	mono := func() time.Duration { return time.Since(begun) }
	return storage.Options{
		Dir: dir, Stores: o.Stores, Policy: persist.Always, SnapshotLogBytes: persist.DefaultSnapshotLogBytes, Boot: o.Boot(),
		FSM: fsm.Options{Commands: o.Commands, Monotonic: mono, Level: o.Level}, Monotonic: mono,
		Disk: persist.NewDiskWatch(), Failed: func(error) {}, Logger: o.Logger,
	}
}
