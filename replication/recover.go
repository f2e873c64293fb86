package replication

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A Remnant is what a node of a cluster has on disk, whose majority may be lost. Of
// two of one cluster that with the higher Term is further, and in one Term that with
// the higher LastIndex.
type Remnant struct {
	Cluster, Node string
	Servers       []string       // addresses of the members, as this node knows
	Term          uint64         // of the last entry
	LastIndex     uint64         // of the last entry; 0: it has none
	Stamp         engine.Instant // of the last decision; 0: there was none
	Keys          int64
	// LostTail says that the system went down with a log that was not synced.
	LostTail bool
}

// Age is how long before now the last decision was.
func (r Remnant) Age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, int64(r.Stamp)))
}

// IsMember says whether a data directory is that of a node of a cluster.
func IsMember(dir string) (bool, error) { return persist.IsMember(vfs.Default, dir) }

// Inspect reads what the node has that was running on o.Dir, which no process uses.
// It changes what a start would: a write that a crash cut short is cut off the log.
// It takes as long as a start.
func Inspect(o Options) (r Remnant, err error) {
	err = withRemnant(o, func(_ *Node, _ *seat, found Remnant) error {
		r = found
		return nil
	})
	return r, err
}

// Recover makes the node on o.Dir, which no process uses, the only member of a new
// cluster, at the address o.Raft and with the state that it has: for when a majority
// of the old one is lost for good. What the others had acknowledged and this node did
// not have is lost with them. It takes a new id, so that nothing of the old cluster
// reaches it, and members of the old one are strangers to the new one.
//
// If it is interrupted, or fails, the node is what it was, or the new one.
func Recover(o Options) (r Remnant, err error) {
	if err := checkAddress("--raft", o.Raft); err != nil {
		return r, err
	}
	err = withRemnant(o, func(n *Node, s *seat, found Remnant) error {
		r = found
		return n.recover(s, found)
	})
	return r, err
}

// withRemnant opens what a node has, and has it used.
func withRemnant(o Options, use func(n *Node, s *seat, r Remnant) error) (err error) {
	o.setDefaults()
	switch is, err := persist.IsMember(o.fs, o.Dir); {
	case err != nil:
		return err
	case !is:
		return fmt.Errorf("%s is no data directory of a node of a cluster: it has no %s", o.Dir, memberName)
	}
	dir, err := persist.OpenDir(o.fs, o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	n := &Node{o: o, log: o.Logger, dir: dir, mono: sinceNow(), fatal: func(error) {}}
	if n.membership, err = readMembership(dir); err != nil {
		return err
	}
	m := n.member()
	if m.Cluster.zero() {
		return fmt.Errorf("data directory %s is of no cluster yet", o.Dir)
	}
	s, err := n.openSeat(&m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r, err := n.readAll(s)
	if err != nil {
		return err
	}
	return use(n, s, r)
}

// readAll has the machine carry out all that the node has: the newest snapshot and
// the log behind it, committed or not.
func (n *Node) readAll(s *seat) (Remnant, error) {
	m := n.member()
	r := Remnant{Cluster: m.Cluster.String(), Node: m.Node, LostTail: m.lostTail(n.o.boot())}
	meta, err := s.restoreNewest()
	if err != nil {
		return r, err
	}
	last, err := s.logs.LastIndex()
	if err != nil {
		return r, err
	}
	servers := meta.Configuration
	r.LastIndex, r.Term = meta.Index, meta.Term
	for i := meta.Index + 1; i <= last; i++ {
		var entry raft.Log
		if err := s.logs.GetLog(i, &entry); err != nil {
			return r, fmt.Errorf("read entry %d of the log: %w", i, err)
		}
		switch entry.Type {
		case raft.LogCommand:
			if err := s.machine.carryOut(&entry); err != nil {
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
	r.Stamp = engine.Instant(s.machine.stamp.Load())
	r.Keys = s.machine.engine.Load().Len()
	return r, nil
}

// restoreNewest restores the newest snapshot and says which it is; zero: there is none.
func (s *seat) restoreNewest() (raft.SnapshotMeta, error) {
	all, err := s.snapshots.List()
	if err != nil || len(all) == 0 {
		return raft.SnapshotMeta{}, err
	}
	meta, from, err := s.snapshots.Open(all[0].ID)
	if err != nil {
		return raft.SnapshotMeta{}, fmt.Errorf("open snapshot %s: %w", all[0].ID, err)
	}
	return *meta, s.machine.Restore(from)
}

// recover writes the state of a seat, which has carried out all that it has, as that
// of another node, and becomes that node.
func (n *Node) recover(s *seat, r Remnant) error {
	if r.LastIndex == 0 {
		return fmt.Errorf("node %s has nothing: not one entry of its cluster reached it", r.Node)
	}
	term, err := s.stable.GetUint64(keyCurrentTerm)
	if err != nil {
		return fmt.Errorf("read the votes: %w", err)
	}
	next := membership{Node: newNodeID(), Cluster: newClusterID(), Seed: n.member().Seed, Clean: true, Raft: n.o.Raft}
	only := configurationOf([]server{{Node: next.Node, Raft: n.o.Raft}})
	s.machine.become(next.Cluster)
	if err := n.writeSeat(&next, s.machine, r, max(term, r.Term), only); err != nil {
		return fmt.Errorf("write the state of the new node: %w", err)
	}
	return n.setMember(func(m *membership) { *m = next }) // a start deletes what the old one had
}

// become has the machine be of another cluster, that has no members yet.
func (f *machine) become(cluster clusterID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cluster = cluster
	f.crew.Members = make(map[string]Member)
}

// writeSeat makes what a node stands on that has no log, but a snapshot of a machine.
func (n *Node) writeSeat(m *membership, from *machine, r Remnant, term uint64, servers raft.Configuration) (err error) {
	to, err := n.openSeat(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	if err := to.stable.SetUint64(keyCurrentTerm, term); err != nil {
		return err
	}
	transport := &offline{address: raft.ServerAddress(n.o.Raft)}
	sink, err := to.snapshots.Create(raft.SnapshotVersionMax, r.LastIndex, r.Term, servers, 1, transport)
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
