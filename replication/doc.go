// Package replication replicates decisions: client batches go through the log of a Raft
// group, and every node applies the log to its engine with the same result.
//
// It owns a cluster node: the contents of log entries (proposer), the stamps of entries
// (leaderClock), raft (raftStack), cluster membership (bootstrap, members, maintain),
// and the answers without a quorum (no_quorum). The packages below it have the rest:
//
//	fsm       the replicated state: applies entries, and goes between nodes as a snapshot
//	storage   the data directory: the membership, and a member's log, votes and snapshots
//	lease     the leases of the leader, and the promises of the voters
//	election  the agreement of the members that their leader is silent
//	link      connections to other nodes
//	batch     requests on their way into the log or to the leader, and without a leader
//	forward   batches on their way to the leader
//	broadcast sends messages of PUBLISH to the other nodes
//	raftfix   workarounds for raft
//	offline   tools for the directory of a stopped node; not imported here
//
// It imports engine, persist, hashicorp/raft and their dependencies. It knows no command and
// no client connection.
//
// # The way of a batch
//
//	any node:  Exec -> batch.Batcher
//	follower:  Batcher -> forward.Client -> forward.Server on the leader -> Exec -> answers -> done
//	leader:    Batcher -> proposal (one entry, stamped) -> raft -> FSM.Apply -> done
//	the others:                                            raft -> fsm.Apply
//
// One entry is in flight at a time, except that the FSM may still be applying the previous
// entry. Batches that arrive meanwhile go into the next entry: pure group commit. With 16
// connections of 32 requests each an entry holds some hundreds of decisions. More entries
// in flight only increased the latency of each.
//
// # What is promised
//
//   - A decision that was answered is in the log of a majority: on disk (AckDisk), or in
//     the memory of their operating systems (AckMemory). It is in the log of every later
//     leader.
//   - A batch answered UNCERTAIN may or may not have been applied, and may still be
//     applied later. A batch answered with any other error was not applied and never will
//     be.
//   - A look, a read-only batch that accepts no stale state, has no entry. It shows all decisions
//     that were answered before Exec got the look. The leader evaluates the look under a lease
//     (see package lease), or after a majority has answered a heartbeat that was sent after the
//     look arrived. A round of heartbeats serves all waiting looks.
//   - All FSMs that have applied the same entries make the same decisions from then on, at
//     any later stamp. Stamps never decrease, also across leaders.
//   - A node that may have lost entries it acknowledged is no longer a member: it joins
//     again under a new id. So does a node on which a call had other effects than on the
//     leader: the leader states a checksum of the effects of each entry in one of the next
//     two (see package fsm), and clients were told the leader's answers.
//
// For the third promise, only FSM.Apply advances the engine's time or changes its state:
// reads go through Engine.Look, sweeps use the last stamp, and everything that depends on
// the memory of one node is decided by the leader before the entry is logged: a flag of
// the batch says whether new keys are refused, and evicted keys are Forgets in the entry.
// The leader compares the values watched by a transaction while nothing is in flight; the
// logged batch has no Expects.
//
// # Time
//
// See leaderClock. The leader stamps entries from its clock, which continues from the last
// stamp and follows the lower median of all voters' clocks, at a rate of at most one part
// in a thousand. The first decision of a leader is preceded by one step that accounts for
// the time without a leader.
//
// # Raft
//
// hashicorp/raft v1.7.3. Package raftfix lists its known defects and their workarounds.
package replication
