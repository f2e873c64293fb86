package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"limitsrv/certs"
	"limitsrv/commands"
	"limitsrv/commands/auth/users"
	"limitsrv/replication/link"
	"limitsrv/server"
	"limitsrv/server/admin"
)

// A node is a server with its state, listeners, users and certificates.
type node struct {
	*configuration // as read at the start
	log            *slog.Logger
	level          *slog.LevelVar // of log
	state          state
	handler        *commands.Handler
	server         *server.Server
	admin          *admin.Server // nil without --admin
	users          *users.Table  // as loaded at the start; nil without --users
	certs          *certs.Source // for clients; nil without --tls-cert
	linkCerts      *certs.Source // for other nodes; nil without --raft-tls-cert
	clusterSecrets *link.Secrets // nil without a cluster secret
	settings       settings
	rewriting      sync.Mutex
	// maxMemory and evict are the current memory bound of keys. Guarded by settings.mu.
	maxMemory size
	evict     bool
	drainTime atomic.Int64          // --drain, in nanoseconds
	heapLimit int64                 // GOMEMLIMIT, used while there is no memory bound
	shutdown  chan commands.Parting // receives one value when SHUTDOWN is requested
	stop      chan stopCause        // receives one value when a graceful stop begins
	fatal     chan error            // receives one value when the state fails for good
}

// newNode returns a node that has not read or opened anything yet. level is the level
// of log.
func newNode(c *configuration, log *slog.Logger, level *slog.LevelVar) *node {
	n := &node{
		configuration: c, log: log, level: level, settings: settings{all: c.list()},
		shutdown: make(chan commands.Parting, 1), stop: make(chan stopCause, 1), fatal: make(chan error, 1),
		maxMemory: c.MaxMemory, evict: c.OnFull == "evict", heapLimit: debug.SetMemoryLimit(-1),
	}
	n.drainTime.Store(int64(c.Drain))
	return n
}

// open opens the state and binds the listeners.
//
// Cost: with --data as long as the disk takes, in a cluster as long as the state takes
// to load.
func (n *node) open() error {
	if err := raiseFileLimit(n.MaxClients + spareFiles); err != nil {
		n.log.Warn("fewer connections than --max-clients will fit", "error", err)
	}
	debug.SetGCPercent(gcPercent)
	n.limitHeap()
	if err := n.readFiles(); err != nil {
		return err
	}
	config, err := n.awaitState()
	if err != nil {
		return err
	}
	n.handler = commands.NewHandler(n.fillConfig(config))
	if err := n.openListeners(); err != nil {
		return errors.Join(err, n.state.close(context.Background(), commands.SaveNever))
	}
	n.allowChanges(n.level)
	return nil
}

// readFiles loads the users and the clients' certificates, both of which can be
// reloaded.
func (n *node) readFiles() (err error) {
	if n.users, err = n.loadUsers(); err != nil {
		return err
	}
	n.certs, err = n.openTLS(n.log)
	return err
}

// fillConfig adds to config, as made by openState, the fields that every kind of state
// has.
func (n *node) fillConfig(config commands.Config) commands.Config {
	config.Exec, config.Engine, config.Clock = n.state, n.state.Engine, n.state
	switch {
	case config.Cluster != nil:
	case n.ClusterMode == "emulated":
		config.Cluster = commands.NewEmulated()
	default:
		config.Cluster = commands.NoCluster{}
	}
	config.Password, config.Users, config.LoadUsers = n.Password, n.users, n.loadUsers
	config.Options, config.Shutdown = n.settings.list, n.askShutdown
	if n.Config != "" {
		config.Rewrite = n.rewriteFile
	}
	config.Version, config.Log, config.Network = version, n.log, n.network
	return config
}

// network returns the traffic counters for INFO. It requires a running server, which
// every caller of INFO has.
func (n *node) network() commands.Network {
	s := n.server.Stats()
	return commands.Network{Rejected: s.Rejected, RejectedHTTP: s.RejectedHTTP, InputBytes: s.InputBytes, OutputBytes: s.OutputBytes}
}

// openListeners binds the addresses for clients and the admin listener.
func (n *node) openListeners() (err error) {
	n.server, err = server.New(server.Config{
		Listen:       n.Listen,
		TLSListen:    n.TLSListen,
		TLS:          n.certs.Config,
		UnixSocket:   n.Unixsocket,
		MaxClients:   n.MaxClients,
		Limits:       n.limits(),
		WriteTimeout: n.WriteTimeout,
		IdleTimeout:  n.IdleTimeout,
		Loops:        n.IOThreads,
		NewSession:   func(c commands.Client) server.Session { return n.handler.NewSession(c) },
		Commit:       n.handler.Commit,
		Logger:       n.log,
	})
	if err != nil {
		return n.withNextPort(err)
	}
	return n.openAdmin()
}

// spareFiles is the number of file descriptors reserved for uses other than
// connections.
const spareFiles = 64

// askShutdown requests a shutdown on behalf of the SHUTDOWN command. It does not block.
func (n *node) askShutdown(p commands.Parting) {
	select {
	case n.shutdown <- p:
	default:
	}
}

// gcPercent is the heap growth between two collections, in percent. It is low because
// the heap is mostly keys, which hold no pointers: a collection is cheap, and
// uncollected garbage is memory that keys could use.
const gcPercent = 50

// limitHeap sets the soft memory limit of the garbage collector: the memory bound of
// keys, plus a quarter of it and 64 MB for the rest of the server.
func (n *node) limitHeap() {
	limit := n.heapLimit
	if bound := int64(n.maxMemory); bound > 0 && bound < math.MaxInt64/2 {
		limit = bound + bound/4 + 64<<20
	}
	debug.SetMemoryLimit(limit)
}
