package replication

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A Remnant is what a node of a cluster has on disk, whose majority may be lost.
type Remnant struct {
	Cluster, Node string
	Servers       []string // addresses of the members, as this node knows
	Term          uint64   // of the last entry
	LastIndex     uint64
	Stamp         engine.Instant // of the last decision
	Keys          int64
	// LostTail says that the system went down with a log that was not synced.
	LostTail bool
}

// Inspect reads what the node has that was running on a data directory, which no
// process uses. Nothing is changed.
func Inspect(o Options) (r Remnant, err error) {
	err = withRemnant(o, func(_ *Node, s *seat, found Remnant) error {
		r = found
		return nil
	})
	return r, err
}

// Recover makes the node of a data directory, which no process uses, the only member
// of a new cluster, with the state that it has: for when a majority of the old one
// is lost for good. What the others had acknowledged and this one did not have is
// lost with them. Members of the old cluster are strangers to the new one.
func Recover(o Options) (r Remnant, err error) {
	err = withRemnant(o, func(n *Node, s *seat, found Remnant) error {
		r = found
		return n.recover(s)
	})
	return r, err
}

// withRemnant opens what a node has, and has it used.
func withRemnant(o Options, use func(n *Node, s *seat, r Remnant) error) error {
	o.setDefaults()
	dir, err := persist.OpenDir(o.fs, o.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
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
	r, err := n.readAll(s)
	r.LostTail = m.lostTail(o.boot())
	if err == nil {
		err = use(n, s, r)
	}
	return errors.Join(err, s.close())
}

// readAll has the machine carry out all that the node has: the newest snapshot and
// the log behind it, committed or not.
func (n *Node) readAll(s *seat) (r Remnant, err error) {
	m := n.member()
	r = Remnant{Cluster: m.Cluster.String(), Node: m.Node}
	index, servers, err := s.restoreNewest()
	if err != nil {
		return r, err
	}
	last, err := s.logs.LastIndex()
	for i := index + 1; err == nil && i <= last; i++ {
		var entry raft.Log
		if err = s.logs.GetLog(i, &entry); err != nil {
			break
		}
		r.Term = entry.Term
		switch entry.Type {
		case raft.LogCommand:
			s.machine.Apply(&entry)
		case raft.LogConfiguration:
			servers = raft.DecodeConfiguration(entry.Data)
		}
	}
	for _, x := range servers.Servers {
		r.Servers = append(r.Servers, string(x.Address))
	}
	r.LastIndex = max(last, index)
	r.Stamp = engine.Instant(s.machine.stamp.Load())
	r.Keys = s.machine.engine.Load().Len()
	return r, err
}

// restoreNewest restores the newest snapshot, if there is one.
func (s *seat) restoreNewest() (index uint64, servers raft.Configuration, err error) {
	all, err := s.snapshots.List()
	if err != nil || len(all) == 0 {
		return 0, servers, err
	}
	meta, from, err := s.snapshots.Open(all[0].ID)
	if err != nil {
		return 0, servers, err
	}
	return meta.Index, meta.Configuration, s.machine.Restore(from)
}

// recover writes a snapshot of all that the node has, whose only member is the node,
// and makes it that of another cluster.
func (n *Node) recover(s *seat) error {
	m := n.member()
	cluster := newClusterID()
	config := n.raftConfig(m.Node)
	only := configurationOf([]server{{Node: m.Node, Raft: n.o.Raft}})
	// The machine carries the log out once more, as raft wants it: an empty one.
	fresh := newMachine(&m, n.mono)
	fresh.becomes = cluster
	transport := &offline{address: raft.ServerAddress(n.o.Raft)}
	if err := raft.RecoverCluster(config, fresh, s.logs, s.stable, s.snapshots, transport, only); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return n.setMember(func(m *membership) {
		m.Cluster, m.Founding, m.Clean, m.Raft = cluster, nil, true, n.o.Raft
	})
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

// Age is how long before now the last decision was.
func (r Remnant) Age(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, int64(r.Stamp)))
}
