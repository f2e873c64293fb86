// Package raftfix has workarounds for the known defects of hashicorp/raft v1.7.3.
//
// Each type implements an interface of raft, takes the implementation that it improves,
// and is passed to raft.NewRaft in its place. Transport, SnapshotStore and TimedVoteStore
// are told when raft has started.
//
//   - Transport: heartbeats are handled outside the main goroutine, so that a node may
//     take part in two terms at once (issue 695).
//   - Transport and SnapshotStore: a delayed snapshot from the leader replaces a log that
//     has more entries.
//   - Transport: requests to a removed node reach the node that listens at its address
//     now.
//   - Transport: after failed requests a follower is not contacted for up to 10 s.
//   - Transport: requests to append entries have no bound in bytes.
//   - Transport: a vote is requested once, over a link that may have ended long ago.
//   - Transport: commits are sent in separate requests, also while nothing is decided.
//   - Transport: the pipeline of requests can deadlock.
//   - Transport: a leader that was paused, or that hands its leadership over, may believe that it
//     leads while another node does.
//   - VoteStore: a vote is stored in two writes; after a crash in between, a node may vote
//     twice in a term (issue 661).
//   - TimedVoteStore: raft panics if a write of the term or the vote fails.
//   - SnapshotStore and LogStore: a follower with entries of a former leader after a
//     snapshot rejects all further entries, and is sent the same snapshot forever (issue
//     697).
//   - LogStore: raft's cache of entries has no bound in bytes.
//   - NewLogger: messages that an operator can not act on are logged as information.
//
// The stores also time their writes, because raft continues heartbeats while its disk
// hangs (issue 503). The remaining workarounds need the whole node, and are in package
// replication: a leader with a hanging disk stops (watchDisk), raft is restarted after a
// failed leadership transfer and when its log is stuck (restartRaft), an election begins
// before raft's own timeouts if the leader is silent (election.Watch), and a candidate's
// silent leader does not count as its leader (isForsaken). RestoreCommittedLogs, which
// deadlocks on long logs, is not in this version.
//
// The package imports raft and persist, for its Stopwatch. It knows nothing of entries,
// nodes and links.
package raftfix
