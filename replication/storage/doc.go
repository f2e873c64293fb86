// Package storage is the data directory of a node of a cluster. It holds the membership file and,
// if the node is a member, the log, the votes, the snapshots and the FSM. It imports fsm, raftfix,
// persist and raft's stores. It runs no raft and does not communicate with other nodes.
//
//	MEMBER                  the membership: ids, seed, and whether the log ended cleanly
//	raft/NODE/log/          the log
//	raft/NODE/APPLYING      the entry that is being applied; DEATHS: see persist
//	raft/NODE/votes.db      the term and the vote
//	raft/NODE/snapshots/    the newest snapshots
package storage
