// Package replication makes several nodes decide as one: what clients ask goes
// through the log of a Raft group, and every node carries it out alike.
package replication
