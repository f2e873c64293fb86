package replication

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/certs"
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
	// ElectionTimeout is how long a leader may be stopped and go on to lead, and how long an
	// operation waits for a leader; 0 means a second. See silentShare for its silence.
	ElectionTimeout time.Duration
	// SnapshotLogBytes is how long the log may grow before a snapshot is taken; 0
	// means persist.DefaultSnapshotLogBytes.
	SnapshotLogBytes int64
	// DeadAfter is how long a member may be silent before the leader removes it, if
	// that is safe; 0: never.
	DeadAfter time.Duration
	// TLS are the files for links between nodes, all three of them; nil: links are
	// without TLS.
	TLS *certs.Files
	// Secrets are those of the cluster; nil: any node that reaches this one is let in,
	// unless TLS keeps it out.
	Secrets *Secrets

	Logger *slog.Logger
	// Fatal is called once, from any goroutine, when the node can not go on: its disk
	// has failed or hangs, or it was removed from the cluster. The process is to end; Close may hang then.
	Fatal func(error)

	// Wall is the clock of the machine, Monotonic one that nobody sets, and Network how
	// others are reached; nil means the system's. The time of the cluster is made of the
	// two clocks, and nothing else is: elections and all waits are in the system's time.
	Wall      func() engine.Instant
	Monotonic func() time.Duration
	Network   Network

	// For tests; nil means the system's own.
	fs     vfs.FS
	stores func(dir string) (raft.StableStore, raft.SnapshotStore, error)
	boot   func() string
	level  int // the newest feature of the log that the node knows
	// leastTrailing is how many entries stay behind a snapshot at least; 0: minTrailing.
	leastTrailing int64
	// commitTimeout is after how long raft tells a follower of a commit when no entry follows,
	// at most twice that, if no heartbeat has; 0: ElectionTimeout.
	commitTimeout time.Duration
	applied       func(index uint64, stamp engine.Instant, b *engine.Batch)
	// undecided is told of each batch that is answered, and not refused, though there is
	// no majority, before its done is.
	undecided func(b *engine.Batch)
}

// defaultElectionTimeout is such that a machine that gets no processor for a second keeps its
// leader, and that the next decision comes within two.
const defaultElectionTimeout = time.Second

// check fills in what is not given.
func (o *Options) check() error {
	if err := checkAddress("--raft", o.Raft); err != nil {
		return err
	}
	if o.Bind == "" {
		o.Bind = o.Raft
	}
	for _, list := range []struct {
		name string
		all  []string
	}{{"--peers", o.Peers}, {"--join", o.Join}} {
		for _, address := range list.all {
			if err := checkAddress(list.name, address); err != nil {
				return err
			}
		}
	}
	switch {
	case len(o.Peers) > 0 && !slices.Contains(o.Peers, o.Raft):
		return fmt.Errorf("--peers must list all founding nodes, this one among them: %s is not in %v", o.Raft, o.Peers)
	case len(o.Peers) != len(slices.Compact(slices.Sorted(slices.Values(o.Peers)))):
		return fmt.Errorf("--peers names a node twice: %v", o.Peers)
	case o.ElectionTimeout < 0:
		return fmt.Errorf("the election timeout must be positive, got %v", o.ElectionTimeout)
	}
	o.setDefaults()
	return nil
}

func (o *Options) setDefaults() {
	if o.ElectionTimeout == 0 {
		o.ElectionTimeout = defaultElectionTimeout
	}
	if o.SnapshotLogBytes == 0 {
		o.SnapshotLogBytes = persist.DefaultSnapshotLogBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Wall == nil {
		o.Wall = func() engine.Instant { return engine.Instant(time.Now().UnixNano()) }
	}
	if o.Network == nil {
		o.Network = systemNetwork(o.Bind)
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	if o.stores == nil {
		logger := newRaftLog(o.Logger)
		o.stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) { return openStores(dir, logger) }
	}
	if o.Monotonic == nil {
		o.Monotonic = monotonicClock()
	}
	if o.leastTrailing == 0 {
		o.leastTrailing = minTrailing
	}
	if o.level == 0 {
		o.level = knownLevel
	}
	if o.undecided == nil {
		o.undecided = func(*engine.Batch) {}
	}
	if o.commitTimeout == 0 {
		o.commitTimeout = o.ElectionTimeout
	}
	if o.boot == nil {
		o.boot = persist.BootID
	}
}

// sinceNow is the system's monotonic clock, from now on.
func monotonicClock() func() time.Duration {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) }
}

// policy is when the log is synced.
func (o *Options) policy() persist.Policy {
	if o.Ack == AckDisk {
		return persist.Always
	}
	return o.Fsync
}

// checkAddress holds an address of a node to HOST:PORT: others reach it there, so
// the host must say which.
func checkAddress(option, address string) error {
	host, port, err := net.SplitHostPort(address)
	if number, atoi := strconv.ParseUint(port, 10, 16); err != nil || atoi != nil || number == 0 || host == "" {
		return fmt.Errorf("%s must be HOST:PORT, as other nodes reach it, got %q", option, address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%s must name a host that other nodes reach, got %q", option, address)
	}
	return nil
}

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
