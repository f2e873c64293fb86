package commands

import "limitsrv/engine"

// An Exec performs a batch of ops in order. done is called once, with every
// answer in place or with the error that befell the batch: before Exec returns
// in one node, later and from another goroutine after commit in a cluster. Exec
// must not block the caller. Many may call at once. The batch and the bytes that
// it points to belong to the Exec until done is called.
type Exec interface {
	Exec(batch *engine.Batch, done func(error))
}
