package replication

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/persist"
	"limitsrv/replication/link"
)

const (
	memberName   = persist.MemberName
	memberKind   = "member of a cluster"
	memberFormat = 1
)

// A membership is the persistent identity of a node. Its file exists before the node takes
// part in anything.
type membership struct {
	// Node is the node's id, 40 random hexadecimal digits. A node that lost its state
	// takes a new id, because the old one may have voted and acknowledged entries.
	Node string `json:"node"`
	// Cluster is zero until the node was bootstrapped or has joined; Seed keys the hashes
	// of all nodes from then on.
	Cluster link.ClusterID `json:"cluster"`
	Seed    persist.Seed   `json:"seed"`
	// Founding are the founding nodes, on the node that bootstraps the cluster.
	Founding []server `json:"founding,omitempty"`
	// Synced: the log is synced before it is acknowledged. Otherwise Clean says that it
	// was closed completely, with Last as its last entry, and Boot is the boot id under
	// which it was opened: after another boot its end may be lost.
	Synced bool   `json:"synced"`
	Clean  bool   `json:"clean"`
	Last   uint64 `json:"last,omitempty"`
	Boot   string `json:"boot"`
	// Raft is the address at which other nodes reach the node; empty: it was in no cluster
	// yet.
	Raft string `json:"raft,omitempty"`
}

// A server is a node's id and the address at which other nodes reach it.
type server struct {
	Node string `json:"node"`
	Raft string `json:"raft"`
}

// newNodeID returns 40 random hexadecimal digits, the format of node ids in Redis.
func newNodeID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

func newClusterID() (id link.ClusterID) {
	rand.Read(id[:])
	return id
}

// InCluster reports whether dir is the data directory of a node that is already in a
// cluster.
func InCluster(dir string) (bool, error) {
	var m membership
	err := persist.ReadSealed(vfs.Default, vfs.Default.PathJoin(dir, memberName), memberKind, memberFormat, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !m.Cluster.IsZero(), err
}

// readMembership reads the membership of a data directory, and writes a new one if there
// is none.
func readMembership(d *persist.Dir) (m membership, err error) {
	name := d.FS.PathJoin(d.Path, memberName)
	err = persist.ReadSealed(d.FS, name, memberKind, memberFormat, &m)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if is, err := persist.IsMember(d.FS, d.Path); is || err != nil { // the membership file is missing
		return m, errors.Join(&persist.CorruptError{What: memberKind, File: name, Reason: "it is missing, and " + raftDir + " has a node's state"}, err)
	}
	if err := refuseSingle(d); err != nil {
		return m, err
	}
	m = membership{Node: newNodeID(), Clean: true}
	return m, m.write(d)
}

func (m membership) write(d *persist.Dir) error {
	if err := persist.WriteSealed(d.FS, d.Path, memberName, memberKind, memberFormat, m); err != nil {
		return fmt.Errorf("write %s: %w", memberName, err)
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
			return fmt.Errorf("data directory %s has the state of a server without --raft (%s): give an empty directory (limitsrv recover %s --to NEW --raft HOST:PORT makes one with that state)", d.Path, name, d.Path)
		}
	}
	return nil
}

// minLastIndex returns an entry that the log reaches at least; 0: unknown.
func (m *membership) minLastIndex() uint64 {
	if !m.Clean {
		return 0
	}
	return m.Last
}

// sameBoot reports whether the log was last opened under the given boot id.
func (m *membership) sameBoot(boot string) bool { return boot != "" && m.Boot == boot }

// lostTail reports whether acknowledged entries may be missing: the system crashed with an
// unsynced log, or may have, if boots can not be distinguished.
func (m *membership) lostTail(boot string) bool {
	return !m.Cluster.IsZero() && !m.Synced && !m.Clean && !m.sameBoot(boot)
}

// setOpened records that the log is opened, and whether it is synced from now on. A log
// left with an unsynced end counts as unsynced until it was closed completely.
func (m *membership) setOpened(boot string, synced bool) {
	m.Boot, m.Synced, m.Clean = boot, synced && (m.Synced || m.Clean), false
}

// removeOldNodes deletes the logs and snapshots that this node kept under earlier ids.
func removeOldNodes(fsys vfs.FS, raftDir, node string) error {
	names, err := fsys.List(raftDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if name != node {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(raftDir, name)))
		}
	}
	return err
}
