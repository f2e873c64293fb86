package commands

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"strconv"
	"time"
)

// slots is how many slots the keys of a cluster fall into.
const slots = 16384

// A Cluster tells which nodes there are, and changes them. Many may call at once,
// and no method waits for a disk or another node.
type Cluster interface {
	// Enabled says whether clients are to take the server for a Redis cluster, which
	// it need not be to have other nodes.
	Enabled() bool
	// Nodes are all nodes, the one that is asked first, whether it is a member yet or
	// not; none means that there is no cluster, nor Replication. local is the address that the asking client connected to, HOST:PORT.
	Nodes(local string) []Node
	// Moved is the address, HOST:PORT, to which clients are to send commands with
	// keys; empty: they are carried out here. It is called for each such command, and
	// costs no more than some loads and locks that are held for moments.
	Moved() string
	// Replication is how this node stands with the others; zero: it has none.
	Replication() Replication
	// Digest is a hash of this node's state and the index of the last entry that is in
	// it: the same on all nodes at the same index, as long as nothing is decided. Both
	// are 0 where Replication is zero. Its cost is linear in the keys.
	Digest() (index, digest uint64)
	// Change begins a change of the members, or of who leads, and calls done once at
	// its end, from any goroutine. An error says that it was not begun, and done is not
	// called. Errors are told to the client as those of a Store are.
	Change(c Change, done func(error)) error
	// Wait calls done once, from any goroutine and perhaps before Wait returns, with
	// how many other nodes have all that was answered before the call: as soon as these
	// are at least replicas, or else after timeout or when ctx ends. With 0 replicas that is
	// before Wait returns, with what is known by then.
	Wait(ctx context.Context, replicas int, timeout time.Duration, done func(n int))
}

// A Node is one server of a cluster.
type Node struct {
	ID   string // 40 hexadecimal digits
	Host string // for clients; empty: the one that the client connected to
	Port int
	// Leader says that it has all slots, as far as is known; at most one has. The
	// others are its replicas.
	Leader bool
	Voter  bool   // counts for a majority
	Online bool   // answered lately
	Raft   string // where other nodes reach it, HOST:PORT; empty: they don't
	// Version is that of its program, Index how far its log is known to reach, and
	// LastContact how long ago it was heard of, 0 for the node itself; less than 0:
	// never. Only a leader knows all of them.
	Version     string
	Index       uint64
	LastContact time.Duration
}

// Behind is how many entries a node is behind, counting those since it was last heard
// of, which may be a second ago; -1: unknown.
func (r Replication) Behind(n Node) int64 {
	if n.Index == 0 {
		return -1
	}
	return max(0, int64(r.LastIndex)-int64(n.Index))
}

// A Change of a cluster. The node that it is about has its ID, and its Raft address
// where it is known; of a Transfer both are empty for any node that can lead.
type Change struct {
	Kind     ChangeKind
	ID, Raft string
}

// A ChangeKind says what a Change does.
type ChangeKind uint8

const (
	Forget   ChangeKind = iota // the node is a member no more
	Leave                      // this node is a member no more
	Transfer                   // the node leads
)

// NoCluster is a server by itself.
type NoCluster struct{ singleNode }

// Enabled is false.
func (NoCluster) Enabled() bool { return false }

// Nodes are none.
func (NoCluster) Nodes(string) []Node { return nil }

// An Emulated cluster is one node that has all slots: it makes clients of
// clusters work with a server by itself. Nothing is ever in another slot's place,
// so a command may name keys of several.
type Emulated struct {
	singleNode
	id string
}

// NewEmulated makes one, with an id of its own.
func NewEmulated() Emulated { return Emulated{id: randomID()} }

// Enabled is true.
func (Emulated) Enabled() bool { return true }

// Nodes is the node, at the address that the client connected to.
func (e Emulated) Nodes(local string) []Node {
	n := Node{ID: e.id, Leader: true, Voter: true, Online: true}
	if host, port, err := net.SplitHostPort(local); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err == nil && number > 0 { // else a unix socket
			n.Host, n.Port = host, int(number)
		}
	}
	return []Node{n}
}

// singleNode is what any Cluster without other nodes does.
type singleNode struct{}

// Moved is nowhere.
func (singleNode) Moved() string { return "" }

// Replication is none.
func (singleNode) Replication() Replication { return Replication{} }

// Digest is none.
func (singleNode) Digest() (index, digest uint64) { return 0, 0 }

// Change is refused.
func (singleNode) Change(Change, func(error)) error { return errSingleNode }

// Wait has nobody to wait for.
func (singleNode) Wait(_ context.Context, _ int, _ time.Duration, done func(int)) { done(0) }

// randomID is 40 hexadecimal digits.
func randomID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// keySlot is the slot of a key: CRC16 of it, or of what stands between its first
// brace and the next closing one, if anything does.
//
// Source: Redis cluster specification, "Hash tags".
func keySlot(key []byte) int {
	for i, c := range key {
		if c != '{' {
			continue
		}
		for j, c := range key[i+1:] {
			if c == '}' {
				if j > 0 {
					key = key[i+1 : i+1+j]
				}
				break
			}
		}
		break
	}
	return int(crc16(key) % slots)
}

// crc16 is the CRC of the XMODEM protocol: polynomial 0x1021, from 0.
func crc16(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			top := crc >> 15
			crc = crc<<1 ^ top*0x1021
		}
	}
	return crc
}

// mode is what HELLO and INFO call the server.
func (h *Handler) mode() string {
	if h.config.Cluster.Enabled() {
		return "cluster"
	}
	return "standalone"
}

// role is what Redis calls the node: one that knows of no leader is a replica.
func (h *Handler) role() string {
	if r := h.config.Cluster.Replication(); r.Role != "" && r.Role != RoleLeader {
		return "slave"
	}
	return "master"
}
