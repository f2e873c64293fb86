// Package state opens the state of a server: in memory only, in a data directory, or
// replicated on several nodes.
package state

import (
	"context"
	"log/slog"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/internal/certs"
	"limitsrv/internal/turns"
	"limitsrv/replication/link"
)

// A State holds the keys.
//
// Concurrency: safe for concurrent use, except that Load and Close are called once.
type State interface {
	backend.Exec
	backend.Clock
	Engine() *engine.Engine
	SetBound(maxMemory int64, evict bool)
	Sweep(pages int) (forgotten int64)
	// Fsync describes for people when decisions are synced to disk.
	Fsync() string
	// Loads reports whether Load must be called, and must have returned, before Exec.
	Loads() bool
	// Load recovers the stored state.
	Load(context.Context) error
	// StepDown transfers leadership to another node before this process ends.
	StepDown(context.Context)
	// Close closes the state, after a snapshot if Parting asks for a snapshot.
	Close(context.Context, backend.Parting) error
}

// A Config has the settings of Open.
type Config struct {
	*options.Options
	Version string // of the server
	Log     *slog.Logger
	// Fatal is called, from any goroutine, with an error that a node of a cluster can't go
	// on after.
	Fatal func(error)
	// Settling reports whether this node, if it leads a cluster, must still log something that
	// requests need. nil: never.
	Settling func() bool
}

// An Opened is a State with the parts that depend on its kind.
type Opened struct {
	State
	Notices *engine.Notices // of the calls that the State applies
	Turns   *turns.Turns    // of the slow batches of other nodes; nil without a cluster
	Store   backend.Store   // nil: nothing is stored
	Cluster backend.Cluster // never nil
	// Reads and Ask are set at a front, see session.Config.
	Reads     backend.State
	Ask       func(context.Context, backend.Asked, func([][]byte, error))
	TestClock *backend.TestClock // the clock, with --test-clock; else nil
	// Certificates are those for other nodes; nil without --raft-tls-cert.
	Certificates *certs.Source
	Secrets      *link.Secrets // nil without a cluster secret
}

// singleServer returns the Cluster of a server that is not a node of a cluster.
func singleServer(o *options.Options) backend.Cluster {
	if o.ClusterMode == "emulated" {
		return backend.NewEmulated()
	}
	return backend.NoCluster{}
}
