// Package broadcast sends the messages of PUBLISH to the other nodes of a cluster, over links of
// their own.
//
// A Sender has a bounded queue, a link and a goroutine for each other node. Receive reads the
// messages of a link. The package imports link. It knows neither the log nor raft.
//
// # Promises
//
//   - A node gets the messages of a Sender in the order of the calls of Send.
//   - A node gets a message at most once. The Sender drops and counts a message if the queue of the
//     node is full, or if the link breaks during the write. It drops and counts a whole queue once
//     the oldest message has waited for maxAge without a link.
//   - Not counted are messages lost in flight when a link breaks, and messages that still wait when
//     a node is removed or the Sender is closed.
package broadcast
