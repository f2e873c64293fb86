// Package slots divides keys among the slots of a Redis Cluster. A client computes the slot of a key
// in the same way, and sends a command to the node that has the slot.
//
// It imports none of our packages, so that each of them can use it.
package slots
