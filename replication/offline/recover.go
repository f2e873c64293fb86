package offline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// A Remnant describes a node's data on disk, or a backup. Of two nodes of a cluster the
// node with the higher Term is further ahead; if the Terms are equal, the node with the
// higher LastIndex.
type Remnant struct {
	Kind          RemnantKind
	Cluster, Node string         // ids; Cluster is empty for a single server
	Servers       []string       // addresses of the members, as stored by a member
	Term          uint64         // of the last entry; 0: unknown
	LastIndex     uint64         // of the last entry; 0: it has no entry
	Stamp         engine.Instant // the time of the state; 0: no decision was ever made
	Taken         time.Time      // of a backup
	Keys          int64
	// LostTail: the system crashed with an unsynced log. The end of a member's log may be
	// missing; the end of a single server's log is torn and dropped.
	LostTail bool
}

// A RemnantKind is the kind of a directory.
type RemnantKind uint8

const (
	// OfMember is the data directory of a node of a cluster.
	OfMember RemnantKind = iota
	// OfSingle is the data directory of a single server.
	OfSingle
	// OfBackup is a backup of either. No server has started on it.
	OfBackup
)

// Age returns the time from the last decision until now.
func (r Remnant) Age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, int64(r.Stamp)))
}

// IsMember reports whether dir is the data directory of a node of a cluster.
func IsMember(dir string) (bool, error) { return persist.IsMember(vfs.Default, dir) }

// Inspect reads all data in o.Dir: the data directory of a member or of a single server,
// or a backup. Requires: no process uses it. It changes a member's directory as a start
// would: a write that a crash interrupted is cut off the log. Cost: as much as a start.
func Inspect(o Options) (Remnant, error) {
	r, err := readState(o)
	return r.Remnant, err
}

// Recover creates another data directory, to, with the state in o.Dir: for the only member
// of a new cluster at the address o.Raft, or, if that is empty, for a single server. See
// Inspect for o.Dir. Counts and time are kept; entries that other members acknowledged and
// that are not in a member's directory are lost. Ids are new, so that no message of an old
// cluster reaches the new cluster.
//
// The directory is created under another name, to with the suffix draftSuffix, which is
// deleted first, and renamed when it is complete. If Recover is interrupted or fails, to
// does not exist.
func Recover(o Options, to string) (Remnant, error) {
	o.setDefaults()
	if o.Raft != "" {
		if err := link.CheckAddress("--raft", o.Raft); err != nil {
			return Remnant{}, err
		}
	}
	if names, err := o.FS.List(to); err == nil && len(names) > 0 {
		return Remnant{}, fmt.Errorf("%s is not empty: give a directory that does not exist yet", to)
	}
	r, err := readState(o)
	if err != nil {
		return r.Remnant, err
	}
	switch {
	case o.Raft != "":
		return r.Remnant, r.writeMember(o, to)
	case r.division != nil:
		return r.Remnant, fmt.Errorf("the group in %s owns the slots %v, and a single server owns all slots, which would "+
			"then have two owners: give --raft HOST:PORT instead of --single", o.Dir, r.division.Owned)
	}
	return r.Remnant, r.writeSingle(o.FS, to)
}

// draftSuffix is the suffix of a directory that Recover has not completed.
const draftSuffix = ".unfinished"

// A remnantState is a Remnant with its state.
type remnantState struct {
	Remnant
	engine *engine.Engine
	seed   persist.Seed
	level  int    // feature level of the cluster's log
	voted  uint64 // the last term that a member voted or followed in
	// division is of the member's cluster; nil: it owns all slots.
	division *fsm.Division
}

// readState reads all data in o.Dir.
func readState(o Options) (r remnantState, err error) {
	o.setDefaults()
	is, err := persist.IsMember(o.FS, o.Dir)
	switch {
	case err != nil:
		return r, err
	case is:
		return readMember(o)
	}
	state, err := persist.ReadState(context.Background(), o.FS, o.Dir, o.Commands)
	if err != nil {
		return r, err
	}
	r = remnantState{engine: state.Engine, seed: state.Seed, level: 1}
	r.Remnant = Remnant{
		Kind: OfSingle, Cluster: state.Cluster, Node: state.ID, Term: state.Term, LastIndex: state.Index,
		Stamp: state.Now, Keys: state.Engine.Len(), LostTail: state.Drops,
	}
	if state.Backup {
		r.Kind, r.Taken = OfBackup, state.Taken
	}
	return r, nil
}

// readMember is readState for the data directory of a member.
func readMember(o Options) (r remnantState, err error) {
	defer func() { err = storage.WithHint(err, o.Dir) }()
	dir, err := persist.OpenDir(o.FS, o.Dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	m, err := storage.ReadMembership(dir)
	if err != nil {
		return r, err
	}
	if m.Cluster.IsZero() {
		return r, fmt.Errorf("data directory %s is not in a cluster yet", o.Dir)
	}
	files, err := storage.Open(&m, o.storage(dir))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	found, err := readAll(&m, files, o.Boot())
	if err != nil {
		return r, err
	}
	if found.LastIndex == 0 {
		return r, fmt.Errorf("node %s has no state: no entry of its cluster reached it", found.Node)
	}
	voted, err := files.Votes.Term()
	if err != nil {
		return r, fmt.Errorf("read the votes: %w", err)
	}
	return remnantState{Remnant: found, engine: files.FSM.Engine(), seed: m.Seed, level: files.FSM.Level(), voted: voted,
			division: files.FSM.Division()},
		nil
}

// readAll applies all data of a member to its FSM: the newest snapshot and the log after
// it, committed or not.
func readAll(m *storage.Membership, from *storage.Files, boot string) (Remnant, error) {
	r := Remnant{Cluster: m.Cluster.String(), Node: m.Node, LostTail: m.LostTail(boot)}
	meta, err := restoreNewest(from)
	if err != nil {
		return r, err
	}
	last, err := from.Entries.LastIndex()
	if err != nil {
		return r, err
	}
	servers := meta.Configuration
	r.LastIndex, r.Term = meta.Index, meta.Term
	for i := meta.Index + 1; i <= last; i++ {
		var entry raft.Log
		if err := from.Entries.GetLog(i, &entry); err != nil {
			return r, fmt.Errorf("read entry %d of the log: %w", i, err)
		}
		switch entry.Type {
		case raft.LogCommand:
			if err := from.FSM.ApplyEntry(&entry); err != nil {
				return r, err
			}
		case raft.LogConfiguration:
			servers = raft.DecodeConfiguration(entry.Data)
		}
		r.LastIndex, r.Term = i, entry.Term
	}
	for _, x := range servers.Servers {
		r.Servers = append(r.Servers, string(x.Address))
	}
	r.Stamp = from.FSM.Stamp()
	r.Keys = from.FSM.Engine().Len()
	return r, nil
}

// restoreNewest restores the newest snapshot and returns its metadata, or zero.
func restoreNewest(files *storage.Files) (raft.SnapshotMeta, error) {
	all, err := files.Snapshots.List()
	if err != nil || len(all) == 0 {
		return raft.SnapshotMeta{}, err
	}
	meta, from, err := files.Snapshots.Open(all[0].ID)
	if err != nil {
		return raft.SnapshotMeta{}, &persist.CorruptError{What: "snapshot " + all[0].ID, Err: err}
	}
	return *meta, files.FSM.Restore(from)
}

// writeSingle creates the data directory of a single server.
func (r *remnantState) writeSingle(fsys vfs.FS, to string) error {
	view := r.engine.Freeze()
	defer view.Close()
	of := persist.Origin{ID: r.Node, Taken: time.Now().UTC(), Cluster: r.Cluster, Index: r.LastIndex, Term: r.Term,
		Now: r.Stamp}
	return persist.WriteBackup(context.Background(), fsys, to, to+draftSuffix, view, r.seed, of, 0)
}

// writeMember creates the data directory of the only member of a new cluster.
func (r *remnantState) writeMember(o Options, to string) (err error) {
	draft := to + draftSuffix
	if err := o.FS.RemoveAll(draft); err != nil {
		return err
	}
	dir, err := persist.OpenDir(o.FS, draft)
	if err != nil {
		return errors.Join(err, o.FS.RemoveAll(draft))
	}
	defer func() {
		if err = errors.Join(err, dir.Close()); err != nil {
			err = errors.Join(fmt.Errorf("make data directory %s: %w", to, err), o.FS.RemoveAll(draft))
		}
	}()
	m := storage.Membership{Node: storage.NewNodeID(), Cluster: storage.NewClusterID(), Seed: r.seed, Clean: true,
		Raft: o.Raft}
	if err := r.writeFiles(&m, o.storage(dir)); err != nil {
		return err
	}
	if err := m.Write(dir); err != nil {
		return err
	}
	return persist.Publish(o.FS, draft, to)
}

// writeFiles writes the files of a member that has no log, only a snapshot, in a cluster
// without other members yet. Index and term are at least 1, the least that raft accepts.
func (r *remnantState) writeFiles(m *storage.Membership, o storage.Options) (err error) {
	to, err := storage.Open(m, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	index, term := max(r.LastIndex, 1), max(r.Term, 1)
	to.FSM.Set(fsm.State{Engine: r.engine, Stamp: r.Stamp, Index: index, Term: term, Level: r.level,
		Division: r.division})
	if err := to.Votes.SetTerm(max(r.voted, term)); err != nil {
		return err
	}
	only := storage.ConfigurationOf([]storage.Server{{Node: m.Node, Raft: m.Raft}})
	sink, err := to.Snapshots.Create(raft.SnapshotVersionMax, index, term, only, 1,
		&noTransport{address: raft.ServerAddress(m.Raft)})
	if err != nil {
		return err
	}
	view, err := to.FSM.Snapshot()
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	defer view.Release()
	return view.Persist(sink)
}

// A noTransport is a Transport that only encodes addresses.
type noTransport struct {
	raft.Transport
	address raft.ServerAddress
}

func (o *noTransport) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

func (o *noTransport) LocalAddr() raft.ServerAddress { return o.address }
