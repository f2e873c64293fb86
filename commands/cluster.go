package commands

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"strconv"
	"time"

	"limitsrv/status"
)

// slots is the number of hash slots of a Redis cluster.
const slots = 16384

// A Cluster reports the nodes of the cluster, and changes them.
//
// Concurrency: any number of goroutines may call its methods. No method blocks on a disk
// or on another node.
type Cluster interface {
	// Enabled reports whether clients must treat the server as a Redis cluster. It may be
	// false although there are other nodes.
	Enabled() bool
	// Nodes returns all nodes, this one first, whether or not it is a member yet; none:
	// there is no cluster, and no Replication. local is the address that the client
	// connected to, HOST:PORT.
	Nodes(local string) []status.Node
	// Moved returns the address, HOST:PORT, to which clients must send commands with
	// keys; empty: this node executes them. It is called for each such command. Cost: a
	// few loads and short locks.
	Moved() string
	// Replication returns this node's replication state; zero: no replication.
	Replication() status.Replication
	// Digest returns a hash of this node's state and the index of the last applied entry:
	// the same on all nodes at the same index if nothing is decided meanwhile. Both are 0
	// if Replication is zero. Cost: linear in the keys.
	Digest() (index, digest uint64)
	// Change begins a change of the members or of the leader. It calls done once at the
	// end, from any goroutine. If Change returns an error, the change was not begun and
	// done is not called. Errors are reported to the client as those of a Store are.
	Change(c Change, done func(error)) error
	// Wait calls done once, from any goroutine and perhaps before Wait returns, with the
	// number of other nodes that have every decision answered before the call: as soon as
	// they are at least replicas, or after timeout, or when ctx ends. If replicas is 0,
	// done is called before Wait returns, with the number known.
	Wait(ctx context.Context, replicas int, timeout time.Duration, done func(n int))
}

// A Change of a cluster. ID names the node, and Raft its Raft address if it is known;
// both are empty in a Transfer to any node that can lead.
type Change struct {
	Kind     ChangeKind
	ID, Raft string
}

// A ChangeKind is the kind of a Change.
type ChangeKind uint8

const (
	Forget   ChangeKind = iota // removes the node from the members
	Leave                      // removes this node from the members
	Transfer                   // transfers leadership to the node
)

// NoCluster is the Cluster of a stand-alone server.
type NoCluster struct{ singleNode }

// Enabled returns false.
func (NoCluster) Enabled() bool { return false }

// Nodes returns none.
func (NoCluster) Nodes(string) []status.Node { return nil }

// Emulated is a cluster of one node that has all slots: it makes cluster clients work
// with a stand-alone server. No key is ever on another node, so a command may name keys
// of several slots.
type Emulated struct {
	singleNode
	id string
}

// NewEmulated makes an Emulated with an id of its own.
func NewEmulated() Emulated { return Emulated{id: randomID()} }

// Enabled returns true.
func (Emulated) Enabled() bool { return true }

// Nodes returns the node at the address that the client connected to.
func (e Emulated) Nodes(local string) []status.Node {
	n := status.Node{ID: e.id, Leader: true, Voter: true, Online: true}
	if host, port, err := net.SplitHostPort(local); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err == nil && number > 0 { // else a unix socket
			n.Host, n.Port = host, int(number)
		}
	}
	return []status.Node{n}
}

// singleNode has the methods of a Cluster without other nodes.
type singleNode struct{}

// Moved returns no address.
func (singleNode) Moved() string { return "" }

// Replication returns none.
func (singleNode) Replication() status.Replication { return status.Replication{} }

// Digest returns none.
func (singleNode) Digest() (index, digest uint64) { return 0, 0 }

// Change is rejected.
func (singleNode) Change(Change, func(error)) error { return errSingleNode }

// Wait calls done at once: there are no other nodes.
func (singleNode) Wait(_ context.Context, _ int, _ time.Duration, done func(int)) { done(0) }

// randomID returns 40 hexadecimal digits.
func randomID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// keySlot returns the slot of a key: the CRC16 of the key, or of the bytes between its
// first opening brace and the next closing one if there are any.
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

// crc16 is the CRC of the XMODEM protocol: polynomial 0x1021, initial value 0.
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

// mode returns the server's mode in HELLO and INFO.
func (h *Handler) mode() string {
	if h.config.Cluster.Enabled() {
		return "cluster"
	}
	return "standalone"
}

// role returns Redis' word for the node's role: a node without a known leader is a
// replica.
func (h *Handler) role() string {
	if r := h.config.Cluster.Replication(); r.Role != "" && r.Role != status.Leader {
		return "slave"
	}
	return "master"
}
