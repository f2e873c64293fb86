// Package broadcast sends messages of PUBLISH to the other nodes of a cluster, over links for
// messages.
//
// A Sender has a bounded queue, a link and a goroutine for each other node. Receive reads the
// messages of a link. The package imports link. It knows neither the log nor raft.
//
// # Promises
//
//   - A node gets the messages of a sender in the order of the calls of Send.
//   - A node gets a message at most once. The sender drops and counts a message if the queue of
//     the node is full, if the node is not reached within maxAge, or if the link breaks during the
//     write. Messages in flight on a link that breaks are lost and not counted.
package broadcast
