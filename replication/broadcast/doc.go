// Package broadcast sends messages of PUBLISH to the other nodes of a cluster, over links for
// messages.
//
// A Sender has a bounded queue, a link and a goroutine for each other node. Receive reads the
// messages of one link. The package imports link. It knows neither the log nor raft.
//
// # What is promised
//
//   - A node gets the messages of another one in the order in which that one sent them.
//   - A node gets a message at most once. A message is dropped and counted if the queue of
//     a node is full, if the node is not reached within maxAge, or if the link breaks while the
//     message is written. Messages in flight on a link that breaks are lost and not counted.
package broadcast
