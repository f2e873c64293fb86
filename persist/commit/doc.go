// Package commit turns batches into log entries: it gathers the batches that wait, joins
// them into groups, and distributes the decisions. It imports engine. It has no goroutine,
// lock or I/O of its own.
//
// # The way of a batch
//
//	gather -> stamp -> encode -> append -> apply -> answer
//
// A Queue gathers requests while earlier entries are under way. A Builder makes a Group of
// the first of them: it stamps, joins and encodes them. The log's owner appends the entry,
// applies the Group's batches in order, and answers the Group, which gives each request
// its decisions. If the owner can not know the outcome of an append, exactly one of the
// sides that may apply or refuse a Group claims it.
//
// The owners differ in the log, and in nothing that changes a decision:
//
//	persist, always:        append and fsync, then apply
//	persist, everysec, no:  apply each batch alone, then append the changes of many
//	                        without waiting for the disk; no Group is built
//	replication:            append is a proposal to raft, apply is its FSM
//
// # Rules
//
//   - An entry and the state before it determine the state after it on every node.
//   - An expectation (WATCH) is a barrier: its batch is a group of its own, it is checked
//     when all earlier groups are applied, and the logged batch has no Expects.
//   - Memory is decided between groups by an engine.Bound: it forgets expired keys, then
//     either evicts keys by ops before those of the group, or sets Full, so that the group
//     adds no key.
package commit
