// Package replication makes several nodes decide as one: what clients ask goes
// through the log of a Raft group, and every node carries it out alike.
//
// It owns the node of a cluster: who it is (membership), how it reaches others
// (links, forwarder), what goes into the log and when (group, flight), what all have
// in common (machine), the time of that (leaderClock), who is a member (enter,
// members, attend), and what is answered when nobody can decide (quorum). It imports
// engine, persist, hashicorp/raft and what that stands on. It knows no command and no client.
//
// # The way of a batch
//
//	any node:  Exec -> group.waiting
//	follower:  group -> forwarder -> link -> the leader's Exec -> answers -> done
//	leader:    group -> flight (one entry, stamped) -> raft -> machine.Apply -> answers -> done
//	the others:                                        raft -> machine.Apply
//
// One entry is in flight at a time, but for one that the machine is at already, so that
// all that gathers while it is goes into the
// next: pure group commit. With 16 connections of 32 requests each an entry has some
// hundreds of decisions. More entries in flight only made each of them wait longer.
//
// # What is promised
//
//   - What was answered as decided is in the log of a majority: on disk (AckDisk), or in
//     the hands of their operating systems (AckMemory). It is in the log of every
//     later leader.
//   - What was answered UNCERTAIN may have been carried out or not, now or later. What was
//     answered by any other error has not been, and never will be.
//   - All machines that have carried out the same entries decide the same from then on, at
//     any later stamp. A stamp never goes back, whoever leads.
//   - A node that may have lost what it acknowledged is none of the cluster any more:
//     it becomes a member anew, under another id.
//
// For the third, nobody but machine.Apply has an engine see a time or change a
// decision: looks go through Engine.Look, sweeps use the last stamp, and what depends
// on the memory of one node is decided by the leader before the log: whether new keys
// are refused is a flag of the batch, and keys that are dropped are Forgets in the entry.
// What a transaction has watched is compared by the leader while nothing is in flight,
// and its log entry is without.
//
// # Time
//
// See leaderClock. The stamp of an entry is by the clock of the leader, which goes on
// from the last stamp and follows the lower median of all voters' clocks, by a thousandth
// at most. The time without a leader is made good in one step before the first decision.
//
// # Links
//
// See sealDialed and sealedConn. With a cluster secret, both sides of a link prove it before
// either tells anything, and all that follows is encrypted and authenticated.
//
// # Raft
//
// hashicorp/raft v1.7.3 with what is known to be wrong with it cured here; the places
// name the issues: heartbeats beside the main goroutine (steadyTransport), a pipeline
// that deadlocks (MaxRPCsInFlight 1), a disk that hangs while heartbeats go on (watchDisk),
// a vote in two writes (votes), a failed transfer and a log that is stuck behind a
// snapshot (restart); and rests, of up to 10 s, before it tries a node again that is
// back (steadyTransport); elections that take long where nobody is to be elected by
// mistake (watchLeader). RestoreCommittedLogs, which deadlocks on long logs, is not of this version.
package replication
