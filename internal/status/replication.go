package status

import "time"

// A Role is a node's role in replication.
type Role string

const (
	Leader    Role = "leader"
	Follower  Role = "follower"
	Candidate Role = "candidate" // requests votes, or knows no leader yet
	NonVoter  Role = "non-voter" // replicates, and does not count for a majority
	Front     Role = "front"     // forwards to the leader, and has no state
)

// Replication is a node's replication state. Its zero value is a stand-alone server's.
// Indexes count the entries of the log, from 1. Totals are of this process.
type Replication struct {
	Role Role // empty: no replication
	// ClusterID is the same on all nodes: hexadecimal digits.
	ClusterID string
	// HasQuorum reports that decisions can be made: a leader is known, and, if it is this
	// node, it is in contact with a majority.
	HasQuorum bool
	// Trouble is the reason, for people, that decisions can't be made; empty: they can,
	// or the reason is unknown.
	Trouble string
	// Pending is the reason why this node does not do everything that a member does, for example
	// because it has no vote yet. It is for operators. It is empty if there is no reason, or no
	// quorum.
	Pending string
	Term    uint64
	// The log holds the entries from FirstIndex to LastIndex, both 0 if it is empty.
	// Entries up to CommitIndex are committed, those up to AppliedIndex are part of the
	// state.
	FirstIndex, LastIndex     uint64
	CommitIndex, AppliedIndex uint64
	// LastContact is the time since the last message of the leader: 0 on the leader,
	// negative if there was no message.
	LastContact time.Duration
	// FeatureLevel is the feature level of the oldest node, which all nodes support.
	FeatureLevel uint64

	// Ack, Fsync and NoQuorum are the values of the options of these names.
	Ack, Fsync, NoQuorum string
	// Fronts is the number of fronts that watch this node. Held is the number of batches that wait at
	// a front.
	Fronts, Held int64
	// Links is the authentication between nodes: open, secret, secret-or-open, tls or
	// tls-and-secret.
	Links string
	// FsyncP99 is the 99th percentile of the duration of an fsync; 0: unknown.
	FsyncP99 time.Duration

	Totals   Totals
	Clock    Clock
	Snapshot ReplicatedSnapshot
}

// Totals count since the start.
type Totals struct {
	Entries, EntryBytes int64 // proposed by this node as the leader
	Decisions           int64 // in these entries
	Forwarded           int64 // decisions forwarded to the leader
	Uncertain           int64 // decisions with an unknown outcome
	// NoQuorum counts decisions answered according to that option because there was no
	// quorum, and Local the part that was decided from this node's state. Refused counts
	// batches answered with an error because there was no quorum.
	NoQuorum, Local, Refused int64
	// Elections counts elections won by this node, LeaderChanges the changes of leader
	// that it observed.
	Elections, LeaderChanges int64
	// RefusedLinks counts links of other nodes, or of unauthenticated peers, that were
	// rejected or closed.
	RefusedLinks int64
	// Restarts counts restarts of raft within the process.
	Restarts int64
	// MessagesSent and MessagesDropped count messages of PUBLISH to other nodes that were sent or
	// dropped. A message counts once for each node.
	MessagesSent, MessagesDropped int64
}

// Clock compares the cluster's time with the machine's.
type Clock struct {
	// Offset is the median of the voters' clocks minus this machine's, while this node leads; else 0
	// or an old value.
	Offset time.Duration
	// Clamps counts clock jumps that were not followed, and Clamped is their sum.
	Clamps  int64
	Clamped time.Duration
}

// ReplicatedSnapshot is the newest snapshot; the log can be truncated up to it.
type ReplicatedSnapshot struct {
	Index     uint64    // of the last entry in it; 0: no snapshot
	At        time.Time // creation time
	Bytes     int64
	Installed int64 // snapshots received from the leader, since the start
}

// A Node is a server of a cluster.
type Node struct {
	ID   string // 40 hexadecimal digits
	Host string // for clients; empty: the host that the client connected to
	Port int
	// Leader reports that the node has all slots, as far as this node knows; at most one
	// does. The other nodes are its replicas.
	Leader bool
	Voter  bool   // counts for a majority
	Front  bool   // has no state, and is no member
	Online bool   // answered recently
	Raft   string // address for other nodes, HOST:PORT; empty: no address
	// Version is the version of its program, Index the highest index known to be in its
	// log, LastContact the time since the last message from it: 0 for this node, negative
	// if never. Only a leader knows all of them.
	Version     string
	Index       uint64
	LastContact time.Duration
	// ClockOffset is its wall clock minus the median of the voters' wall clocks, if ClockKnown: a
	// leader knows it of itself and of members that answer.
	ClockOffset time.Duration
	ClockKnown  bool
}

// Behind returns the number of entries that a node lacks, including those since its last
// message, which may be a second old; -1: unknown.
func (r Replication) Behind(n Node) int64 {
	if n.Index == 0 {
		return -1
	}
	return max(0, int64(r.LastIndex)-int64(n.Index))
}
