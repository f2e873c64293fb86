// Package tracking tells clients of this node which of the values that they keep have changed, as
// CLIENT TRACKING of Redis does.
//
// It imports engine, for the changes of keys and their expiry, and resp, for the messages. It
// neither executes commands nor knows connections.
//
// A Table has the keys that clients have read, or for broadcasts the prefixes that they have named.
// The engine of this node tells which keys have changed, also by entries of other nodes. So the
// table is no part of the state.
//
// # Promises
//
//   - A key is in the table before its read is decided. A change that the read does not see is
//     therefore noted later, and finds the key there.
//   - A key leaves the table, and its message goes to the reader, at one moment. A read that is
//     registered later is decided after that change.
//   - The caller of Register delivers messages after the answer of the read, so that a client
//     drops a value that was too old when it arrived.
//   - A message too many is harmless. The table gives one for every doubt: a key for which there
//     is no more space, another state of the node, a lost leader.
//   - Memory is bounded, see Table.SetMax and maxBytes.
package tracking
