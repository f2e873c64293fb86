package commands

import "time"

// A Role is what a node is among those that replicate each other.
type Role string

const (
	RoleLeader    Role = "leader"
	RoleFollower  Role = "follower"
	RoleCandidate Role = "candidate" // asks for votes, or has found nobody yet
	RoleNonVoter  Role = "non-voter" // follows, and does not count for a majority
)

// Replication is how a node stands with the others. Its zero value is that of a
// server by itself. Indexes count the entries of the log, from 1. Totals are of
// this process.
type Replication struct {
	Role Role // empty: there is no replication
	// ClusterID is the same on all nodes: hexadecimal digits.
	ClusterID string
	// HasQuorum says that decisions can be made: a leader is known, and hears of a
	// majority if it is this node.
	HasQuorum bool
	// Trouble is why decisions can't be made, for people; empty: they can, or nobody knows.
	Trouble string
	Term    uint64
	// The log reaches from FirstIndex to LastIndex, both 0 where it is empty. What is
	// up to CommitIndex is decided for good, and up to AppliedIndex part of the state.
	FirstIndex, LastIndex     uint64
	CommitIndex, AppliedIndex uint64
	// LastContact is how long ago the leader was heard of, 0 on the leader; less than
	// 0: never.
	LastContact time.Duration
	// FeatureLevel is what all nodes are able to do, by the oldest of them.
	FeatureLevel uint64

	// Ack, Fsync and NoQuorum are the options of that name as text.
	Ack, Fsync, NoQuorum string
	// Links says how nodes know each other: open, secret, secret-or-open, tls or
	// tls-and-secret.
	Links string
	// FsyncP99 is what one sync of a hundred takes or exceeds; 0: unknown.
	FsyncP99 time.Duration

	Totals   ReplicationTotals
	Clock    ReplicationClock
	Snapshot ReplicatedSnapshot
}

// ReplicationTotals count since the start.
type ReplicationTotals struct {
	Entries, EntryBytes int64 // that this node proposed as the leader
	Decisions           int64 // in these
	Forwarded           int64 // decisions that were left to the leader
	Uncertain           int64 // decisions that may or may not have been made
	// NoQuorum are the decisions answered as the option of that name says, and Local
	// those of them that were made by what this node knew. Refused are the batches
	// answered with an error for want of a majority.
	NoQuorum, Local, Refused int64
	// Elections are those that this node won, and LeaderChanges how often it
	// learnt of another leader.
	Elections, LeaderChanges int64
	// RefusedLinks are those of other nodes, or strangers, that were not taken or were closed.
	RefusedLinks int64
	// Restarts are how often the node began anew within its process.
	Restarts int64
}

// ReplicationClock tells how the time of the cluster keeps to the machine's.
type ReplicationClock struct {
	// Offset is how far the cluster's time is ahead of this machine's.
	Offset time.Duration
	// Clamps are the jumps of a clock that were not followed, and Clamped their sum.
	Clamps  int64
	Clamped time.Duration
}

// ReplicatedSnapshot is the newest one that the log can be cut behind.
type ReplicatedSnapshot struct {
	Index     uint64    // of the last entry in it; 0: there is none
	At        time.Time // when it was made
	Bytes     int64
	Installed int64 // that the leader sent, since the start
}
