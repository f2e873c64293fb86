// Package backend declares the parts of a server that commands use and that its node
// provides: the Exec, which decides batches; the State, which reads the keys outside of
// batches; the Clock; the Store, which persists the state; and the Cluster, with their
// status. It has the implementations for a node that has no disk or no other nodes: Local,
// LocalState, NoStore, NoCluster and Emulated.
//
// The Executor is the way of every batch of a client to the Exec. Callers use Do or Await, which
// need no further call. Only event loops gather batches and commit them together. Such a loop can
// not pass all batches of a wake-up in one call: a state in memory decides each batch at once, and a
// session needs the decisions to read on in its pipeline.
//
// It imports engine, and resp for the errors that clients see. It knows no session and no
// command.
package backend
