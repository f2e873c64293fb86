package backend

import (
	"context"
	"net"
	"strconv"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/status"
)

// A Cluster reports the nodes of the cluster, and changes them.
//
// Concurrency: any number of goroutines may call its methods. No method blocks on a disk
// or on another node.
type Cluster interface {
	// Enabled reports whether clients must treat the server as a Redis cluster. It may be
	// false although there are other nodes. It never changes.
	Enabled() bool
	// Nodes returns all nodes, this node first, whether or not it is a member yet. It
	// returns nil if there is no cluster, and no Replication. local is the address that the
	// client connected to, HOST:PORT.
	Nodes(local string) []status.Node
	// Where reports whether this node executes commands with keys of a slot. If not, it returns
	// the address, HOST:PORT, that clients must send them to, or "" if it is unknown. With stale the
	// state may be old, so that any node of the group that owns the slot executes them. It is called for
	// each such command if Enabled is true. Cost: a few loads and short locks.
	Where(slot slots.Slot, stale bool) (address string, here bool)
	// Divided reports whether the group of this node may own only some slots. Then each command has
	// keys of one slot. Cost: a few loads.
	Divided() bool
	// Groups returns the known groups of the cluster: the group of this node first, with Nodes, and
	// then the other groups by their slots. It returns nil if Nodes returns nil.
	Groups(local string) []Group
	// Leads reports whether this node decides: its engine then has every change that any node
	// has answered. Cost: a few loads and short locks.
	Leads() bool
	// Fresh calls done exactly once, before it returns or later from any goroutine. If the error
	// is nil, this node's state has every change that any node answered before the call. An error
	// is reported to the client like the error of a batch.
	Fresh(done func(error))
	// Features returns the feature level that every batch must have as engine.Batch.Features: 0
	// unless some node may have an older version. Cost: a few loads, and short locks unless it is 0.
	Features() uint8
	// Loggable returns an error if some other node could not read the ops of b from index from on.
	// It returns nil if Features is 0.
	Loggable(b *engine.Batch, from int) error
	// Replication returns this node's replication state; zero: no replication.
	Replication() status.Replication
	// Digest returns a hash of this node's state and the index of the last applied entry. All
	// nodes have the same hash at the same index. No entry is applied during the call. Both
	// results are 0 if Replication is zero. Cost: linear in the keys.
	Digest() (index, digest uint64)
	// Change begins a change of the members or of the leader. It calls done once at the
	// end, from any goroutine. If Change returns an error, the change was not begun and
	// done is not called. Errors are reported to the client as the errors of a Store are.
	Change(c Change, done func(error)) error
	// HandleForwarded sets the function that reviews the batches with calls that other nodes
	// forward, before this node executes them. It may lower the budgets of a batch and mark it
	// Slow. It returns the function to call with the answer, in place of done. Or it calls done with
	// an error and returns nil: the batch must not be executed.
	HandleForwarded(review func(b *engine.Batch, done func(error)) func(error))
	// HandleAsked sets the function that answers the command lines that fronts ask. It may block
	// until its ctx ends.
	HandleAsked(answer func(ctx context.Context, q Asked) (replies [][]byte, err error))
	// Publish sends a message of a client of this node to the clients of the other nodes. Each
	// node gets it at most once, in the order of the calls. It does not block.
	Publish(channel, message []byte)
	// HandlePublished sets the function that receives the messages that other nodes publish.
	// deliver must not keep the bytes and must not block.
	HandlePublished(deliver func(channel, message []byte))
	// Wait calls done once, from any goroutine and perhaps before Wait returns, with the
	// number of other nodes that have every decision answered before the call: as soon as
	// they are at least replicas, or after timeout, or when ctx ends. If replicas is 0,
	// done is called before Wait returns, with the number known.
	Wait(ctx context.Context, replicas int, timeout time.Duration, done func(n int))
}

// A Group owns slots. Its nodes replicate each other.
type Group struct {
	Slots slots.Set
	Nodes []status.Node
	Term  uint64 // of its leader
}

// WholeOf returns the groups of a cluster with one group, or nil if it has no nodes.
func WholeOf(nodes []status.Node, term uint64) []Group {
	if nodes == nil {
		return nil
	}
	return []Group{{Slots: slots.Whole, Nodes: nodes, Term: term}}
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

// NoCluster is the [Cluster] of a stand-alone server.
type NoCluster struct{ singleNode }

// Enabled returns false.
func (NoCluster) Enabled() bool { return false }

// Nodes returns nil.
func (NoCluster) Nodes(string) []status.Node { return nil }

// Groups returns nil.
func (NoCluster) Groups(string) []Group { return nil }

// Emulated is a cluster of a single node that has all slots: it makes cluster clients work
// with a stand-alone server. No key is ever on another node, so a command may name keys of
// several slots.
type Emulated struct {
	singleNode
	ID string // of the node
}

// NewEmulated makes an [Emulated] with an id of its own.
func NewEmulated() Emulated { return Emulated{ID: NewID()} }

// Enabled returns true.
func (Emulated) Enabled() bool { return true }

// Nodes returns the node at the address that the client connected to.
func (e Emulated) Nodes(local string) []status.Node {
	n := status.Node{ID: e.ID, Leader: true, Voter: true, Online: true}
	if host, port, err := net.SplitHostPort(local); err == nil {
		if number, err := strconv.ParseUint(port, 10, 16); err == nil && number > 0 { // else a unix socket
			n.Host, n.Port = host, int(number)
		}
	}
	return []status.Node{n}
}

// Groups returns a group of the node.
func (e Emulated) Groups(local string) []Group { return WholeOf(e.Nodes(local), 0) }

// ErrSingleNode answers commands that need the nodes of a cluster.
var ErrSingleNode = resp.NewError("ERR", "the server is not a member of a cluster")

// singleNode has the methods of a Cluster without other nodes.
type singleNode struct{}

// Where reports true.
func (singleNode) Where(slots.Slot, bool) (address string, here bool) { return "", true }

// Divided returns false.
func (singleNode) Divided() bool { return false }

// Leads reports true.
func (singleNode) Leads() bool { return true }

// Fresh calls done with nil at once.
func (singleNode) Fresh(done func(error)) { done(nil) }

// Features returns 0.
func (singleNode) Features() uint8 { return 0 }

// Loggable returns nil.
func (singleNode) Loggable(*engine.Batch, int) error { return nil }

// HandleForwarded does nothing.
func (singleNode) HandleForwarded(func(*engine.Batch, func(error)) func(error)) {}

// HandleAsked does nothing.
func (singleNode) HandleAsked(func(context.Context, Asked) ([][]byte, error)) {}

// Publish does nothing.
func (singleNode) Publish(_, _ []byte) {}

// HandlePublished does nothing.
func (singleNode) HandlePublished(func(channel, message []byte)) {}

// Replication returns the zero value.
func (singleNode) Replication() status.Replication { return status.Replication{} }

// Digest returns zeros.
func (singleNode) Digest() (index, digest uint64) { return 0, 0 }

// Change is rejected.
func (singleNode) Change(Change, func(error)) error { return ErrSingleNode }

// Wait calls done at once: there are no other nodes.
func (singleNode) Wait(_ context.Context, _ int, _ time.Duration, done func(int)) { done(0) }
