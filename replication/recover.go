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
)

// A Remnant describes a node's data on disk, or a backup. Of two nodes of one cluster
// that with the higher Term is further, and in one Term that with the higher LastIndex.
type Remnant struct {
	Kind          RemnantKind
	Cluster, Node string         // ids; Cluster is empty for a server by itself
	Servers       []string       // addresses of the members, as a member knows them
	Term          uint64         // of the last entry; 0: not known
	LastIndex     uint64         // of the last entry; 0: it has none
	Stamp         engine.Instant // the time of the state; 0: nothing was ever decided
	Taken         time.Time      // of a backup
	Keys          int64
	// LostTail says that the system went down with a log that was not synced: of a
	// member's the end may be missing, of a server's by itself it is torn and dropped.
	LostTail bool
}

// RemnantKind is the kind of a directory.
type RemnantKind uint8

const (
	// OfMember is the data directory of a node of a cluster.
	OfMember RemnantKind = iota
	// OfSingle is the data directory of a server by itself.
	OfSingle
	// OfBackup is a backup, of either, on which no server has started.
	OfBackup
)

// Age is how long before now the last decision was.
func (r Remnant) Age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, int64(r.Stamp)))
}

// IsMember says whether a data directory is that of a node of a cluster.
func IsMember(dir string) (bool, error) { return persist.IsMember(vfs.Default, dir) }

// Inspect reads all that is in o.Dir, which no process uses: the data directory of a
// member or of a server by itself, or a backup. Of a member's it changes what a start
// would: a write that a crash cut short is cut off the log. It takes as long as a start.
func Inspect(o Options) (Remnant, error) {
	r, err := readState(o)
	return r.Remnant, err
}

// Recover makes another data directory, to, with the state that is in o.Dir: of the only
// member of a new cluster at the address o.Raft, or, if that is empty, of a server by
// itself. Of o.Dir see Inspect. The counts and the time are those of o.Dir; what the
// other members had acknowledged and a member's directory does not have is lost. Ids are
// new, so that nothing of an old cluster reaches the new one.
//
// The directory is made under another name, to with the suffix draftSuffix, which is
// deleted first, and renamed when it is complete. If Recover is interrupted, or fails,
// there is no to.
func Recover(o Options, to string) (Remnant, error) {
	o.setDefaults()
	if o.Raft != "" {
		if err := checkAddress("--raft", o.Raft); err != nil {
			return Remnant{}, err
		}
	}
	if names, err := o.fs.List(to); err == nil && len(names) > 0 {
		return Remnant{}, fmt.Errorf("%s is not empty: give a directory that is not there yet", to)
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

// draftSuffix ends the name of a directory that Recover has not completed.
const draftSuffix = ".unfinished"

// remains are a Remnant with its state.
type remnantState struct {
	Remnant
	engine *engine.Engine
	seed   persist.Seed
	level  int    // of the features that the cluster's log used
	voted  uint64 // the term in which a member took part last
}

// readRemains reads all that is in o.Dir.
func readState(o Options) (r remnantState, err error) {
	o.setDefaults()
	is, err := persist.IsMember(o.fs, o.Dir)
	switch {
	case err != nil:
		return r, err
	case is:
		return readMember(o)
	}
	state, err := persist.ReadState(context.Background(), o.fs, o.Dir)
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

// offlineNode is a node that takes part in nothing, to open a seat with.
func offlineNode(o Options, dir *persist.Dir) *Node {
	return &Node{o: o, log: o.Logger, dir: dir, mono: monotonicClock(), fatal: func(error) {}, disk: persist.NewDiskWatch()}
}

// readMember is readRemains for the data directory of a member.
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
	if m.Cluster.zero() {
		return r, fmt.Errorf("data directory %s is of no cluster yet", o.Dir)
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
		return r, fmt.Errorf("node %s has nothing: not one entry of its cluster reached it", found.Node)
	}
	voted, err := s.stable.GetUint64(keyCurrentTerm)
	if err != nil {
		return r, fmt.Errorf("read the votes: %w", err)
	}
	return remnantState{Remnant: found, engine: s.fsm.engine.Load(), seed: m.Seed, level: s.fsm.level(), voted: voted}, nil
}

// readAll has the machine carry out all that the node has: the newest snapshot and
// the log behind it, committed or not.
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

// restoreNewest restores the newest snapshot and says which it is; zero: there is none.
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

// writeSingle makes the data directory of a server by itself.
func (r *remnantState) writeSingle(fsys vfs.FS, to string) error {
	view := r.engine.Freeze()
	defer view.Close()
	of := persist.Origin{ID: r.Node, Taken: time.Now().UTC(), Cluster: r.Cluster, Index: r.LastIndex, Term: r.Term, Now: r.Stamp}
	return persist.WriteBackup(context.Background(), fsys, to, to+draftSuffix, view, r.seed, of)
}

// writeMember makes the data directory of the only member of a new cluster.
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

// machineOf is a machine with the state, of a cluster without members yet. Raft has no
// entries and terms before 1.
func (r *remnantState) newFSM(m *membership, mono func() time.Duration) *fsm {
	f := newFSM(m, mono)
	f.engine.Store(r.engine)
	f.stamp.Store(int64(r.Stamp))
	f.index.Store(max(r.LastIndex, 1))
	f.term = max(r.Term, 1)
	f.state.Level = r.level
	return f
}

// writeSeat writes the files of a node that has no log, only a snapshot.
func (n *Node) writeStack(m *membership, r *remnantState) (err error) {
	to, err := n.openStack(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	from := r.newFSM(m, n.o.Monotonic)
	if err := to.stable.SetUint64(keyCurrentTerm, max(r.voted, from.term)); err != nil {
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

// offline is a Transport that reaches nobody: to encode addresses with.
type offline struct {
	raft.Transport
	address raft.ServerAddress
}

func (o *offline) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

func (o *offline) LocalAddr() raft.ServerAddress { return o.address }
