package storage

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
)

const (
	// MemberName is the name of the membership file.
	MemberName   = persist.MemberName
	memberKind   = "member of a cluster"
	memberFormat = 1
	// nodesDir is the directory with a directory of raft's files for each id of the node.
	nodesDir = persist.MemberDir
)

// A Membership is the persistent identity of a node. Its file exists before the node takes
// part in anything.
type Membership struct {
	// Node is the node's id, 40 random hexadecimal digits. A node that lost its state takes
	// a new id, because the old id may have voted and acknowledged entries.
	Node string `json:"node"`
	// Cluster is zero until the node was bootstrapped or has joined; Seed keys the hashes
	// of all nodes from then on.
	Cluster link.ClusterID `json:"cluster"`
	Seed    persist.Seed   `json:"seed"`
	// Founding are the founding nodes, on the node that bootstraps the cluster.
	Founding []Server `json:"founding,omitempty"`
	// Synced: the log is synced before it is acknowledged. Otherwise Clean says that it was
	// closed completely, with Last as its last entry, and Boot is the boot id at its
	// opening: after another boot its end may be lost.
	Synced bool   `json:"synced"`
	Clean  bool   `json:"clean"`
	Last   uint64 `json:"last,omitempty"`
	Boot   string `json:"boot"`
	// Diverged is the first entry with a state that differs from the cluster's, so that the
	// node must get it anew; 0: no entry.
	Diverged uint64 `json:"diverged,omitempty"`
	// Raft is the address for other nodes to reach the node; empty: it was in no cluster
	// yet.
	Raft string `json:"raft,omitempty"`
	// Level is the highest feature level that the log of the cluster is known to have; 0: unknown.
	Level int `json:"level,omitempty"`
	// Division is the division of the group when this node became a member; nil: the group owns all slots.
	Division *fsm.Division `json:"division,omitempty"`
}

// A Server is a node's id, and the address for other nodes to reach it.
type Server struct {
	Node string `json:"node"`
	Raft string `json:"raft"`
}

// ConfigurationOf returns raft's configuration of the founding nodes.
func ConfigurationOf(founding []Server) (c raft.Configuration) {
	for _, f := range founding {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(f.Node), Address: raft.ServerAddress(f.Raft)})
	}
	return c
}

// NewNodeID returns 40 random hexadecimal digits, the format of node ids in Redis.
func NewNodeID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// NewClusterID returns a random id.
func NewClusterID() (id link.ClusterID) {
	rand.Read(id[:])
	return id
}

// InCluster reports whether dir is the data directory of a node that is already in a
// cluster.
func InCluster(dir string) (bool, error) {
	var m Membership
	err := persist.ReadSealed(vfs.Default, vfs.Default.PathJoin(dir, MemberName), memberKind, memberFormat, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !m.Cluster.IsZero(), err
}

// ReadMembership reads the membership of a data directory, and writes a new membership if
// the directory is empty.
func ReadMembership(d *persist.Dir) (m Membership, err error) {
	name := d.FS.PathJoin(d.Path, MemberName)
	err = persist.ReadSealed(d.FS, name, memberKind, memberFormat, &m)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if is, err := persist.IsMember(d.FS, d.Path); is || err != nil { // the membership file is missing
		return m, errors.Join(&persist.CorruptError{What: memberKind, File: name,
			Reason: "it is missing, and " + nodesDir + " has a node's state"}, err)
	}
	if err := refuseSingle(d); err != nil {
		return m, err
	}
	m = Membership{Node: NewNodeID(), Clean: true}
	return m, m.Write(d)
}

// Write writes the membership file.
func (m Membership) Write(d *persist.Dir) error {
	if err := persist.WriteSealed(d.FS, d.Path, MemberName, memberKind, memberFormat, m); err != nil {
		return fmt.Errorf("write %s: %w", MemberName, err)
	}
	return nil
}

// refuseSingle returns an error for the directory of a single server, because its log has
// another format.
func refuseSingle(d *persist.Dir) error {
	names, err := d.FS.List(d.Path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if persist.IsStateOfOne(name) {
			return fmt.Errorf("data directory %s has the state of a server without --raft (%s): give an empty directory "+
				"(limitsrv recover %s --to NEW --raft HOST:PORT makes one with that state)", d.Path, name, d.Path)
		}
	}
	return nil
}

// MinLastIndex returns an entry that the log reaches at least; 0: unknown.
func (m *Membership) MinLastIndex() uint64 {
	if !m.Clean {
		return 0
	}
	return m.Last
}

// SameBoot reports whether the log was last opened under the given boot id.
func (m *Membership) SameBoot(boot string) bool { return boot != "" && m.Boot == boot }

// LostTail reports whether acknowledged entries may be missing: the system crashed with an
// unsynced log, or may have, if boots can not be distinguished.
func (m *Membership) LostTail(boot string) bool {
	return !m.Cluster.IsZero() && !m.Synced && !m.Clean && !m.SameBoot(boot)
}

// SetOpened records that the log is opened, and whether it is synced from now on. A log
// left with an unsynced end counts as unsynced until it was closed completely.
func (m *Membership) SetOpened(boot string, synced bool) {
	m.Boot, m.Synced, m.Clean = boot, synced && (m.Synced || m.Clean), false
}

// RemoveOldNodes deletes the logs and snapshots that this node kept under earlier ids.
func RemoveOldNodes(d *persist.Dir, node string) error {
	all := d.FS.PathJoin(d.Path, nodesDir)
	names, err := d.FS.List(all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if name != node {
			err = errors.Join(err, d.FS.RemoveAll(d.FS.PathJoin(all, name)))
		}
	}
	return err
}
