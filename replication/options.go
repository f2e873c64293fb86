package replication

import (
	"context"
	"log/slog"
	"net"
	"time"

	"limitsrv/engine"
	"limitsrv/persist"
)

// Options configure a Node.
type Options struct {
	// Dir is the data directory. It is made if it is missing.
	Dir string
	// Raft is the address, HOST:PORT, at which other nodes reach this one. Bind is
	// where it listens; empty: at Raft.
	Raft, Bind string
	// Peers are the addresses of the founding nodes, Raft among them, the same on
	// each. A node that has a state, or finds that the others have one, does not
	// found anything.
	Peers []string
	// Join are addresses of nodes of a cluster that this one is to become a member of.
	Join []string
	// Client is the address at which clients reach this node, as others tell them.
	Client string
	// Version is that of the program, for people.
	Version string

	// Ack says when a decision is answered.
	Ack Ack
	// Fsync is when the log is synced under AckMemory. Under AckDisk it always is.
	Fsync persist.Policy
	// NoQuorum is what is answered while no majority can be reached.
	NoQuorum NoQuorum
	// MaxMemory bounds the memory of keys in bytes; 0: no bound. Evict says that keys
	// are dropped there, and not refused. The leader's hold.
	MaxMemory int64
	Evict     bool
	// ElectionTimeout is how long a leader may be silent before others elect another
	// one, and how long an operation waits for a leader; 0 means 300 ms.
	ElectionTimeout time.Duration
	// SnapshotLogBytes is how long the log may grow before a snapshot is taken; 0
	// means persist.DefaultSnapshotLogBytes.
	SnapshotLogBytes int64
	// DeadAfter is how long a member may be silent before the leader removes it, if
	// that is safe; 0: never.
	DeadAfter time.Duration
	// TLS are the files for links between nodes; nil: links are in the clear.
	TLS *TLSFiles

	Logger *slog.Logger
	// Fatal is called once, from any goroutine, when the node can not go on: its disk
	// has failed or hangs, or it was removed from the cluster. The process is to end; Close may hang then.
	Fatal func(error)

	// Wall is the clock of the machine, and Network how others are reached; nil means
	// the system's.
	Wall    func() engine.Instant
	Network Network
}

// TLSFiles are the certificate and key of a node and what signs those of all, as
// PEM files. They are read again when they change.
type TLSFiles struct{ Cert, Key, CA string }

// A Network carries connections.
type Network interface {
	Listen(address string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// Ack says when a decision is answered.
type Ack uint8

const (
	// AckDisk: when a majority has it on disk.
	AckDisk Ack = iota
	// AckMemory: when a majority has it in the hands of the operating system.
	AckMemory
)

// NoQuorum is what a node does that reaches no majority.
type NoQuorum uint8

const (
	// NoQuorumError refuses all with CLUSTERDOWN.
	NoQuorumError NoQuorum = iota
	// NoQuorumAllow allows what asks for permits, and refuses the rest.
	NoQuorumAllow
	// NoQuorumDeny denies what asks for permits, and refuses the rest.
	NoQuorumDeny
	// NoQuorumLocal decides about what asks for permits by what this node knew last
	// and has decided so since, and refuses the rest.
	NoQuorumLocal
)
