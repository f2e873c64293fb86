// Package reservations has the calls of commands with an id: the option ONCE, and the commands on
// reservations. A command with ONCE acts once, however often it is delivered while its id is remembered. A
// reservation takes tokens and holds them, until a commit or a cancel settles it or its time is over.
//
//	words -> ops in a batch -> Wrap or Reserve -> engine.Call -> Do -> Reply.Read -> ops and decisions
//
// The id is a key with a record of its own: an engine.Receipt of a command with ONCE, or the bytes of a
// record. So it has a TTL, DEL forgets it, and snapshots and the bound of memory hold for it. The holds of a
// reservation are in the engine, with the keys of its limits.
package reservations
