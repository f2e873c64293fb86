// Package turns does work that takes long, one piece at a time with rests, so that all other work
// waits for at most one piece. A node has one Turns, for its own clients and for the other nodes of
// its cluster.
//
// It imports only the standard library.
package turns
