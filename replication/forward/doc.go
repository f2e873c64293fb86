// Package forward carries batches to the leader and its answers back, over links for
// forwarded batches.
//
// A Client, on any node, writes the requests for a leader in frames, many batches at once,
// and calls the Done of each with its answer. A Server, on the leader, executes the batches
// of a frame and writes the answers in the order of their arrival. The package imports
// link, and persist for the format of entries. It does not choose the leader.
//
// Each request is answered once: with its decisions, with ErrNotAccepted only if it was
// certainly not applied, or with persist.ErrUncertain if the link was lost.
package forward
