// Package storage is the data directory of a node of a cluster: the membership file, and for
// the member that the node is the log, the votes and the snapshots, with the FSM that they
// belong to. It imports fsm, raftfix, persist and raft's stores. It runs no raft, and knows no
// other node.
//
//	MEMBER                  the membership: ids, seed, and whether the log ended cleanly
//	raft/NODE/log/          the log
//	raft/NODE/APPLYING      the entry that is being applied; DEATHS: see persist
//	raft/NODE/votes.db      the term and the vote
//	raft/NODE/snapshots/    the newest snapshots
package storage
