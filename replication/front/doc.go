// Package front is a node without state before a group: a front. It finds the leader of the group,
// and forwards the batches of its clients to it, as a follower does.
//
//	Exec -> batch.Batcher -> forward.Client -> leader
//
// A front has an engine with texts only: the documents and the sources of the leader. So rules,
// functions and scripts are compiled here, as at a follower. Reads outside of batches are calls of
// the leader, see package fronts.
package front
