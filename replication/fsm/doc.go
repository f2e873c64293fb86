// Package fsm is the replicated state of a cluster: an engine and the published data of the
// members. It owns the application of log entries, the entries about the cluster, and the
// stream that carries a state from a node to another node or to its disk. It imports
// engine, persist and raft; link for the id of a cluster, raftfix to mark its snapshots. It
// knows neither the node nor its log.
//
// # Promise
//
// All FSMs that have applied the same entries make the same decisions from then on, at any
// later stamp. So only Apply changes the state, and an entry has everything that a decision
// depends on.
package fsm
