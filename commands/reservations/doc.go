// Package reservations has the calls of commands with an id: the option ONCE. Such a command acts once,
// however often it is delivered while its id is remembered.
//
//	words -> ops in a batch -> Wrap -> engine.Call -> Do -> Reply.Read -> ops and decisions
//
// The id is a key with a record of its own, an engine.Receipt. So it has a TTL, DEL forgets it, and
// snapshots and the bound of memory hold for it.
package reservations
