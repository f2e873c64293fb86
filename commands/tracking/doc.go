// Package tracking tells the clients of this node which of their cached values have changed, like
// CLIENT TRACKING of Redis.
//
// It imports engine, for the changes and expiries of keys, and resp, for the messages. It executes
// no command and knows no connection.
//
// A Table holds the keys that clients have read and, for broadcasts, the prefixes that clients have
// named. The engine of this node reports all changed keys, including changes by entries of other
// nodes. So the table is not part of the replicated state.
//
// # Promises
//
//   - A key is in the table before its read is decided. If the read does not see a change, the
//     engine reports the change later, and the table has the key then.
//   - Removing a key and sending the message to its readers is one step. A read that is registered
//     later is decided after that change.
//   - The caller of Register delivers messages after the answer of the read. So a client drops a
//     value that was outdated on arrival.
//   - An unnecessary message is harmless. In doubt the table sends a message: if it has no space
//     for a key, if the node gets another state, or if the leader is lost.
//   - Memory is bounded, see Table.SetMax and maxBytes.
package tracking
