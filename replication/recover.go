package replication

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// A Remnant describes a node's data on disk, or a backup. Of two nodes of one cluster the
// one with the higher Term is further ahead, and within one Term the one with the higher
// LastIndex.
type Remnant struct {
	Kind          RemnantKind
	Cluster, Node string         // ids; Cluster is empty for a single server
	Servers       []string       // addresses of the members, as stored by a member
	Term          uint64         // of the last entry; 0: unknown
	LastIndex     uint64         // of the last entry; 0: it has none
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
	// OfBackup is a backup of either, on which no server has started.
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
// cluster reaches the new one.
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
	if names, err := o.fs.List(to); err == nil && len(names) > 0 {
		return Remnant{}, fmt.Errorf("%s is not empty: give a directory that does not exist yet", to)
	}
	r, err := readState(o)
	if err != nil {
		return r.Remnant, err
	}
	if o.Raft == "" {
		return r.Remnant, r.writeSingle(o.fs, to)
	}
	return r.Remnant, r.writeMember(o, to)
}

// draftSuffix is the suffix of a directory that Recover has not completed.
const draftSuffix = ".unfinished"

// A remnantState is a Remnant with its state.
type remnantState struct {
	Remnant
	engine *engine.Engine
	seed   persist.Seed
	level  int    // feature level of the cluster's log
	voted  uint64 // the last term in which a member voted or followed
}

// readState reads all data in o.Dir.
func readState(o Options) (r remnantState, err error) {
	o.setDefaults()
	is, err := persist.IsMember(o.fs, o.Dir)
	switch {
	case err != nil:
		return r, err
	case is:
		return readMember(o)
	}
	state, err := persist.ReadState(context.Background(), o.fs, o.Dir, o.Commands)
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

// offlineNode returns a node that takes part in nothing, for opening its files.
func offlineNode(o Options, dir *persist.Dir) *Node {
	return &Node{o: o, log: o.Logger, dir: dir, mono: monotonicClock(), fatal: func(error) {}, disk: persist.NewDiskWatch()}
}

// readMember is readState for the data directory of a member.
func readMember(o Options) (r remnantState, err error) {
	defer func() { err = withHint(err, o.Dir) }()
	dir, err := persist.OpenDir(o.fs, o.Dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	n := offlineNode(o, dir)
	if n.membership, err = readMembership(dir); err != nil {
		return r, err
	}
	m := n.member()
	if m.Cluster.IsZero() {
		return r, fmt.Errorf("data directory %s is not in a cluster yet", o.Dir)
	}
	s, err := n.openStack(&m)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	found, err := n.readAll(s)
	if err != nil {
		return r, err
	}
	if found.LastIndex == 0 {
		return r, fmt.Errorf("node %s has no state: no entry of its cluster reached it", found.Node)
	}
	voted, err := s.stable.Term()
	if err != nil {
		return r, fmt.Errorf("read the votes: %w", err)
	}
	return remnantState{Remnant: found, engine: s.fsm.engine.Load(), seed: m.Seed, level: s.fsm.level(), voted: voted}, nil
}

// readAll applies all data of the node to its FSM: the newest snapshot and the log behind
// it, committed or not.
func (n *Node) readAll(s *raftStack) (Remnant, error) {
	m := n.member()
	r := Remnant{Cluster: m.Cluster.String(), Node: m.Node, LostTail: m.lostTail(n.o.boot())}
	meta, err := s.restoreNewest()
	if err != nil {
		return r, err
	}
	last, err := s.entries.LastIndex()
	if err != nil {
		return r, err
	}
	servers := meta.Configuration
	r.LastIndex, r.Term = meta.Index, meta.Term
	for i := meta.Index + 1; i <= last; i++ {
		var entry raft.Log
		if err := s.entries.GetLog(i, &entry); err != nil {
			return r, fmt.Errorf("read entry %d of the log: %w", i, err)
		}
		switch entry.Type {
		case raft.LogCommand:
			if err := s.fsm.applyLog(&entry); err != nil {
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
	r.Stamp = engine.Instant(s.fsm.stamp.Load())
	r.Keys = s.fsm.engine.Load().Len()
	return r, nil
}

// restoreNewest restores the newest snapshot and returns its metadata; zero: there is
// none.
func (s *raftStack) restoreNewest() (raft.SnapshotMeta, error) {
	all, err := s.snapshots.List()
	if err != nil || len(all) == 0 {
		return raft.SnapshotMeta{}, err
	}
	meta, from, err := s.snapshots.Open(all[0].ID)
	if err != nil {
		return raft.SnapshotMeta{}, &persist.CorruptError{What: "snapshot " + all[0].ID, Err: err}
	}
	return *meta, s.fsm.Restore(from)
}

// writeSingle creates the data directory of a single server.
func (r *remnantState) writeSingle(fsys vfs.FS, to string) error {
	view := r.engine.Freeze()
	defer view.Close()
	of := persist.Origin{ID: r.Node, Taken: time.Now().UTC(), Cluster: r.Cluster, Index: r.LastIndex, Term: r.Term, Now: r.Stamp}
	return persist.WriteBackup(context.Background(), fsys, to, to+draftSuffix, view, r.seed, of)
}

// writeMember creates the data directory of the only member of a new cluster.
func (r *remnantState) writeMember(o Options, to string) (err error) {
	draft := to + draftSuffix
	if err := o.fs.RemoveAll(draft); err != nil {
		return err
	}
	dir, err := persist.OpenDir(o.fs, draft)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, dir.Close()); err != nil {
			err = errors.Join(fmt.Errorf("make data directory %s: %w", to, err), o.fs.RemoveAll(draft))
		}
	}()
	m := membership{Node: newNodeID(), Cluster: newClusterID(), Seed: r.seed, Clean: true, Raft: o.Raft}
	n := offlineNode(o, dir)
	if err := n.writeStack(&m, r); err != nil {
		return err
	}
	if err := m.write(dir); err != nil {
		return err
	}
	return persist.Publish(o.fs, draft, to)
}

// newFSM returns an FSM with the state, for a cluster without members yet. Index and term
// are at least 1, the least that raft accepts.
func (r *remnantState) newFSM(m *membership, o *Options) *fsm {
	f := newFSM(m, o.Monotonic, o.Commands)
	f.engine.Store(r.engine)
	f.stamp.Store(int64(r.Stamp))
	f.index.Store(max(r.LastIndex, 1))
	f.term = max(r.Term, 1)
	f.state.Level = r.level
	return f
}

// writeStack writes the files of a node that has no log, only a snapshot.
func (n *Node) writeStack(m *membership, r *remnantState) (err error) {
	to, err := n.openStack(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	from := r.newFSM(m, &n.o)
	if err := to.stable.SetTerm(max(r.voted, from.term)); err != nil {
		return err
	}
	only := configurationOf([]server{{Node: m.Node, Raft: m.Raft}})
	sink, err := to.snapshots.Create(raft.SnapshotVersionMax, from.index.Load(), from.term, only, 1, &offline{address: raft.ServerAddress(m.Raft)})
	if err != nil {
		return err
	}
	view, err := from.Snapshot()
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	defer view.Release()
	return view.Persist(sink)
}

// offline is a Transport that only encodes addresses.
type offline struct {
	raft.Transport
	address raft.ServerAddress
}

func (o *offline) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

func (o *offline) LocalAddr() raft.ServerAddress { return o.address }
