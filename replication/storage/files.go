package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"limitsrv/internal/histogram"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/raftfix"
)

// Options configure Open.
type Options struct {
	Dir *persist.Dir
	// Stores opens the votes and the snapshots of a node; see OpenStores.
	Stores           func(dir string) (raft.StableStore, raft.SnapshotStore, error)
	Policy           persist.Policy
	SnapshotLogBytes int64  // growth of the log between two snapshots
	Boot             string // id of the current boot of the system
	// FSM has all options of the FSM but those in the membership.
	FSM       fsm.Options
	Marks     bool                 // record the entry that is being applied, see persist.Applying
	Monotonic func() time.Duration // for LogStore.LastStored
	Disk      *persist.DiskWatch
	Failed    func(error) // called when the log can not be written
	Stored    func()      // unless nil, called when entries were stored; it must not block
	Logger    *slog.Logger
}

// Files are the log, the votes and the snapshots of a member on disk, and its FSM, before
// any of them is applied to it. Concurrency: any goroutine, except Close.
type Files struct {
	FSM        *fsm.FSM
	Log        *persist.Log
	Entries    *raftfix.LogStore // of Log
	Votes      *raftfix.VoteStore
	Snapshots  *raftfix.SnapshotStore
	StoreTimes histogram.Histogram // of the log

	mark           *persist.Applying // nil: not recorded
	logWrites      *persist.Stopwatch
	voteWrites     *persist.Stopwatch // of the term and the vote
	snapshotWrites *persist.Stopwatch

	disk         vfs.FS
	dir          string
	segmentBytes int64

	mu     sync.Mutex
	newest raft.SnapshotMeta
}

// Names of a member's files. Unfinished is the suffix of unfinished snapshots in SnapshotsName.
const (
	LogName       = "log"
	VotesName     = "votes.db"
	SnapshotsName = "snapshots"
	Unfinished    = ".tmp"
)

const (
	retained     = 2 // snapshots
	segmentShare = 4 // part of SnapshotLogBytes that a segment of the log has
)

// Path returns the directory with the files of a member.
func Path(d *persist.Dir, m *Membership) string { return d.FS.PathJoin(d.Path, nodesDir, m.Node) }

// Open opens the files of a member, and creates those that do not exist. The caller must
// close them.
func Open(m *Membership, o Options) (*Files, error) {
	dir := Path(o.Dir, m)
	if err := persist.MakeDir(o.Dir.FS, dir); err != nil {
		return nil, err
	}
	f := &Files{
		logWrites: o.Disk.Stopwatch(), voteWrites: o.Disk.Stopwatch(), snapshotWrites: o.Disk.Stopwatch(),
		disk: o.Dir.FS, dir: dir, segmentBytes: SegmentBytes(o.SnapshotLogBytes),
	}
	votes, snapshots, err := o.Stores(dir)
	if err != nil {
		return nil, err
	}
	f.Votes, f.Snapshots = raftfix.NewVoteStore(votes), raftfix.NewSnapshotStore(snapshots, f.snapshotWrites)
	f.RefreshSnapshots()
	if err := f.openLog(m, dir, o); err != nil {
		return nil, errors.Join(err, f.Votes.Close())
	}
	if err := f.openFSM(m, dir, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openLog opens the log of a member. dir is the member's directory.
func (f *Files) openLog(m *Membership, dir string, o Options) (err error) {
	f.Log, err = persist.OpenLog(o.Dir.FS, o.Dir.FS.PathJoin(dir, LogName), persist.LogOptions{
		Policy:       o.Policy,
		SegmentBytes: f.segmentBytes,
		Least:        m.MinLastIndex(),
		SameBoot:     m.SameBoot(o.Boot),
		OnError:      func(err error) { o.Failed(fmt.Errorf("the log can't be written: %w", err)) },
	})
	if err != nil {
		return err
	}
	if d := f.Log.Dropped(); d != nil {
		d.Warn(o.Logger)
	}
	f.Entries = raftfix.NewLogStore(f.Log.Raft(), raftfix.LogStoreOptions{
		Snapshots: f.Snapshots, Monotonic: o.Monotonic, Writing: f.logWrites,
		Stored: func(took time.Duration) {
			f.StoreTimes.Add(took, 1)
			if o.Stored != nil {
				o.Stored()
			}
		},
	})
	return nil
}

// openFSM creates the FSM of a member. It returns a *persist.PoisonError if applying one of the
// log's entries has already ended too many processes.
func (f *Files) openFSM(m *Membership, dir string, o Options) (err error) {
	if o.Marks {
		f.mark, err = persist.OpenApplying(o.Dir.FS, dir, o.Dir.Path, m.SameBoot(o.Boot), o.Logger)
		if err == nil {
			err = f.mark.Check(f.Newest().Index, f.Log.Last(), f.Log.Skipped())
		}
	}
	o.FSM.Cluster, o.FSM.Seed, o.FSM.Division, o.FSM.Mark = m.Cluster, m.Seed, m.Division, f.mark
	f.FSM = fsm.New(o.FSM)
	return err
}

// OpenStores opens the votes and the snapshots of a node. Writing a snapshot leaves at least
// reserve bytes of the disk free.
func OpenStores(dir string, reserve int64, logger hclog.Logger) (raft.StableStore, raft.SnapshotStore, error) {
	if err := votesLost(dir); err != nil {
		return nil, nil, err
	}
	votes, err := openBolt(filepath.Join(dir, VotesName))
	if err != nil {
		return nil, nil, openingVotes(dir, err)
	}
	room := func() error { return persist.CheckRoom(vfs.Default, dir, 0, reserve) }
	snapshots, err := newSnapshotStore(vfs.Default, filepath.Join(dir, SnapshotsName), retained, room, logger)
	if err != nil {
		return nil, nil, errors.Join(err, raftfix.NewVoteStore(votes).Close())
	}
	return votes, snapshots, nil
}

// openBolt opens the file of a StableStore. Writes are always synced; the list of free
// pages is rebuilt at each start and not written.
func openBolt(path string) (raft.StableStore, error) {
	return raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
}

// Close closes the files. Requires: the FSM applies nothing.
func (f *Files) Close() error { return errors.Join(f.Log.Close(), f.Votes.Close(), f.mark.Close()) }

// TimedVotes returns the votes for raft; see VoteStore.Timed.
func (f *Files) TimedVotes(failed func(error)) *raftfix.TimedVoteStore {
	return f.Votes.Timed(f.voteWrites, failed)
}

// Storing reports whether entries are being written to the log.
func (f *Files) Storing() bool {
	_, running := f.logWrites.Running()
	return running
}

// RefreshSnapshots updates Newest from the disk.
func (f *Files) RefreshSnapshots() {
	all, err := f.Snapshots.List()
	if err != nil || len(all) == 0 {
		return
	}
	f.Snapshots.SetNewest(all[0].Index, all[0].Term)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = *all[0]
}

// Newest returns the newest snapshot on disk, as of the last RefreshSnapshots, or zero.
func (f *Files) Newest() raft.SnapshotMeta {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest
}

// TermOf returns the term of an entry, 0 if it is unknown.
func (f *Files) TermOf(index uint64) uint64 {
	var entry raft.Log
	if err := f.Entries.GetLog(index, &entry); err == nil {
		return entry.Term
	}
	if newest, term := f.Snapshots.Newest(); newest == index {
		return term
	}
	return 0
}
