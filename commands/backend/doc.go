// Package backend declares the parts of a server that commands use and that its node
// provides: the Exec, which decides batches; the Clock; the Store, which persists the
// state; and the Cluster, with their status. It has the implementations for a node that
// has no disk or no other nodes: Local, NoStore, NoCluster and Emulated.
//
// It imports engine, and resp for the errors that clients see. It knows no session and no
// command.
package backend
