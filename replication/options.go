package replication

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/certs"
	"limitsrv/internal/turns"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/lease"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
	"limitsrv/replication/undecided"
)

// Options configure a Node.
type Options struct {
	// Dir is the data directory. It is created if it is missing.
	Dir string
	// Raft is the address, HOST:PORT, for other nodes to reach this node. Bind is the
	// listen address; empty: the same as Raft.
	Raft, Bind string
	// Peers are the addresses of the founding nodes, including Raft; the list must be the
	// same on each. A node that has a state, or finds that other nodes have a state, does
	// not bootstrap.
	Peers []string
	// Join are addresses of members of the cluster that this node joins.
	Join []string
	// Slots are the slots that a founded group owns, and GroupOf addresses of nodes of the first
	// group of its cluster, which gives them; empty: this is the first group. Slots nil: it owns all.
	Slots   slots.Set
	GroupOf []string
	// Whole: this node serves only as a member of a group that owns all slots. For example its clients
	// can't be sent to other groups.
	Whole bool
	// Client is the address for clients to reach this node, as published to the other
	// nodes.
	Client string
	// Version is the program's version, for display.
	Version string

	// Ack is the durability required before a decision is answered; empty: AckDisk.
	Ack Ack
	// Fsync is the sync policy of the log under AckMemory. Under AckDisk it is always
	// synced.
	Fsync persist.Policy
	// NoQuorum is the policy for requests while no majority can be reached; empty:
	// undecided.Error.
	NoQuorum NoQuorum
	// MaxMemory bounds the memory of keys in bytes; 0: no bound. Evict: keys are evicted
	// at the bound; otherwise new keys are refused. The leader's values apply.
	MaxMemory int64
	Evict     bool
	// Commands carries out calls; nil: there are no calls.
	Commands engine.Commands
	// Notices, unless nil, are the notices of the calls, for the clients of this node: of
	// entries that the cluster commits after this node has caught up with it.
	Notices *engine.Notices
	// ElectionTimeout is the longest pause that a leader survives as leader, and the
	// longest wait of an operation for a leader; 0 means a second. See package election for
	// the silence that followers accept.
	ElectionTimeout time.Duration
	// SnapshotLogBytes is the growth of the log between two snapshots; 0 means
	// persist.DefaultSnapshotLogBytes.
	SnapshotLogBytes int64
	// DeadAfter is the silence of a member that makes the leader remove it, if that is
	// safe; 0: never.
	DeadAfter time.Duration
	// TLS are the files for links between nodes; all three are required. nil: links are
	// without TLS.
	TLS *certs.Files
	// Secrets are the cluster secrets; nil: any node that reaches this node is accepted,
	// unless TLS prevents it.
	Secrets *link.Secrets

	// Settling reports whether this node, if it leads, must still log something that requests
	// need. No node is ready before that. nil: never. Concurrency: any goroutine may call it.
	Settling func() bool

	// Turns do the slow batches of other nodes, while this node leads. nil: the node has its own.
	Turns *turns.Turns

	Logger *slog.Logger
	// Fatal is called once, from any goroutine, when the node can not continue: its disk
	// failed or hangs, or it was removed from the cluster. The process must exit; Close
	// may hang then.
	Fatal func(error)

	// Wall is the wall clock, Monotonic a clock that is never set, and Network the
	// connection to other nodes; nil means the system's. The cluster's time is derived
	// from these two clocks only; elections and all timeouts use the system's time.
	Wall      func() engine.Instant
	Monotonic func() time.Duration
	Network   Network

	// For tests; nil means the system's own.
	fs     vfs.FS
	stores func(dir string) (raft.StableStore, raft.SnapshotStore, error)
	boot   func() string
	level  int // the newest feature level of the log known to the node
	// leastTrailing is the least number of entries kept before a snapshot; 0: minTrailing.
	leastTrailing int64
	// commitTimeout is the delay of a commit that raft sends to a follower if no entry
	// follows, at most twice that, unless a heartbeat carried it; 0: ElectionTimeout.
	commitTimeout time.Duration
	applied       func(f *fsm.FSM, index uint64, stamp engine.Instant, b *engine.Batch)
	// maxHold is the time for which requests wait for a leader. 0: holdHalfTimeouts.
	maxHold time.Duration
	// lasting is the clock of leases, see lease.Clock. leaderLease is the time that raft
	// leads without a majority; 0: derived from ElectionTimeout.
	lasting     func() time.Duration
	leaderLease time.Duration
	// undecided is called with each batch that is answered, and not refused, without a
	// majority, before its done is called.
	undecided func(b *engine.Batch)
}

// minTrailing is the least number of entries kept before a snapshot.
const minTrailing = 1024

// defaultElectionTimeout lets a machine that gets no processor for a second keep its
// leader, and bounds the time until the next decision to two seconds.
const defaultElectionTimeout = time.Second

// check validates the options and fills in defaults.
func (o *Options) check() error {
	if err := link.CheckAddress("--raft", o.Raft); err != nil {
		return err
	}
	if o.Bind == "" {
		o.Bind = o.Raft
	}
	for _, list := range []struct {
		name string
		all  []string
	}{{"--peers", o.Peers}, {"--join", o.Join}, {"--group-of", o.GroupOf}} {
		for _, address := range list.all {
			if err := link.CheckAddress(list.name, address); err != nil {
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
	o.Ack = cmp.Or(o.Ack, AckDisk)
	o.NoQuorum = cmp.Or(o.NoQuorum, undecided.Error)
	o.ElectionTimeout = cmp.Or(o.ElectionTimeout, defaultElectionTimeout)
	o.SnapshotLogBytes = cmp.Or(o.SnapshotLogBytes, persist.DefaultSnapshotLogBytes)
	o.leastTrailing = cmp.Or(o.leastTrailing, minTrailing)
	o.level = cmp.Or(o.level, fsm.KnownLevel)
	o.commitTimeout = cmp.Or(o.commitTimeout, o.ElectionTimeout)
	o.maxHold = cmp.Or(o.maxHold, holdHalfTimeouts*o.ElectionTimeout/2)
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
		logger := newRaftLogger(o.Logger)
		reserve := storage.Reserve(o.SnapshotLogBytes)
		o.stores = func(dir string) (raft.StableStore, raft.SnapshotStore, error) {
			return storage.OpenStores(dir, reserve, logger)
		}
	}
	if o.Monotonic == nil {
		o.Monotonic = monotonicClock()
	}
	if o.undecided == nil {
		o.undecided = func(*engine.Batch) {}
	}
	if o.lasting == nil {
		o.lasting = lease.Clock
	}
	if o.Settling == nil {
		o.Settling = func() bool { return false }
	}
	if o.Turns == nil {
		o.Turns = turns.New(nil)
	}
	if o.boot == nil {
		o.boot = persist.BootID
	}
}

// monotonicClock returns a clock that reports the time since this call, monotonically.
func monotonicClock() func() time.Duration {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) }
}

// policy returns the sync policy of the log.
func (o *Options) policy() persist.Policy {
	if o.Ack == AckDisk {
		return persist.Always
	}
	return o.Fsync
}

// Ack is the durability required before a decision is answered: a value of --ack.
type Ack string

const (
	// AckDisk: a majority has it on disk.
	AckDisk Ack = "disk"
	// AckMemory: a majority has passed it to the operating system.
	AckMemory Ack = "memory"
)

// NoQuorum is the policy of a node that reaches no majority: a value of --no-quorum.
type NoQuorum = undecided.Policy

// holdHalfTimeouts is the longest wait of requests for a leader, in half election timeouts:
// an election takes up to two timeouts, plus the time to detect the loss and to become
// leader.
const holdHalfTimeouts = 5
