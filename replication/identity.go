package replication

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/persist"
)

const (
	memberName   = persist.MemberName
	memberKind   = "member of a cluster"
	memberFormat = 1
)

// A membership is what a node keeps about who it is. Its file is there before the
// node takes part in anything.
type membership struct {
	// Node is the node's id, 40 random hexadecimal digits. One whose state was lost
	// takes another id, since the old one may have voted and acknowledged.
	Node string `json:"node"`
	// Cluster is zero until the node was founded or has joined; Seed keys the hashes
	// of all nodes from then on.
	Cluster clusterID    `json:"cluster"`
	Seed    persist.Seed `json:"seed"`
	// Founding are the founding nodes, on the one that founds the cluster.
	Founding []server `json:"founding,omitempty"`
	// Synced says that the log is synced before it is acknowledged. Where it is not,
	// Clean says that it was closed whole, with Last as its last entry, and Boot in which
	// run of the system it was opened: after another boot its end may be lost.
	Synced bool   `json:"synced"`
	Clean  bool   `json:"clean"`
	Last   uint64 `json:"last,omitempty"`
	Boot   string `json:"boot"`
	// Raft is where the others of the cluster reach the node; empty: it was in none yet.
	Raft string `json:"raft,omitempty"`
}

// A server is a node by its id and the address at which others reach it.
type server struct {
	Node string `json:"node"`
	Raft string `json:"raft"`
}

// newNodeID is 40 random hexadecimal digits, as Redis names nodes.
func newNodeID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

func newClusterID() (id clusterID) {
	rand.Read(id[:])
	return id
}

// InCluster says whether a data directory is that of a node that is in a cluster already.
func InCluster(dir string) (bool, error) {
	var m membership
	err := persist.ReadSealed(vfs.Default, vfs.Default.PathJoin(dir, memberName), memberKind, memberFormat, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !m.Cluster.zero(), err
}

// readMembership reads that of a data directory; one without gets a new one.
func readMembership(d *persist.Dir) (m membership, err error) {
	name := d.FS.PathJoin(d.Path, memberName)
	err = persist.ReadSealed(d.FS, name, memberKind, memberFormat, &m)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if is, err := persist.IsMember(d.FS, d.Path); is || err != nil { // its file is not there
		return m, errors.Join(&persist.CorruptError{What: memberKind, File: name, Reason: "it is missing, and " + raftDir + " has the state of a node"}, err)
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

// refuseSingle refuses the directory of a node by itself: its log is another one.
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

// least is the entry that the log reaches at least; 0: nobody knows.
func (m *membership) minLastIndex() uint64 {
	if !m.Clean {
		return 0
	}
	return m.Last
}

// sameBoot says whether the log was last opened in the run of the system that boot
// names.
func (m *membership) sameBoot(boot string) bool { return boot != "" && m.Boot == boot }

// lostTail says whether what was acknowledged may be missing: the system went down
// with a log that was not synced, or may have, where its runs can't be told apart.
func (m *membership) lostTail(boot string) bool {
	return !m.Cluster.zero() && !m.Synced && !m.Clean && !m.sameBoot(boot)
}

// opens notes that the log is opened, to be synced from now on or not. One that was
// left with an end that is not synced is no synced one before it was closed whole.
func (m *membership) setOpened(boot string, synced bool) {
	m.Boot, m.Synced, m.Clean = boot, synced && (m.Synced || m.Clean), false
}

// removeOthers deletes the logs and snapshots of nodes that this one was before.
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
