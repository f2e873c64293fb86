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
	"limitsrv/commands/users"
	"limitsrv/replication"
	"limitsrv/server"
	"limitsrv/server/admin"
)

// A node is a server with all that it stands on.
type node struct {
	*configuration // as of the start
	log            *slog.Logger
	level          *slog.LevelVar // of log
	state          state
	handler        *commands.Handler
	server         *server.Server
	admin          *admin.Server        // nil: there is none
	users          *users.Table         // as the file said at the start; nil: there is none
	certs          *certs.Source        // for clients; nil: none
	linkCerts      *certs.Source        // for other nodes; nil: none
	clusterSecrets *replication.Secrets // nil: none
	settings       settings
	rewriting      sync.Mutex
	// maxMemory and evict are the bound of keys, as of now; settings.mu guards them.
	maxMemory size
	evict     bool
	drainTime atomic.Int64          // --drain, in nanoseconds
	heapLimit int64                 // that of the environment, which holds where there is no bound
	shutdown  chan commands.Parting // has one element once SHUTDOWN was asked for
	stop      chan stopCause        // has one element once the node is to end in good order
	fatal     chan error            // has one element once the state can not go on
}

// newNode makes a node that has read and opened nothing yet. level is that of log.
func newNode(c *configuration, log *slog.Logger, level *slog.LevelVar) *node {
	n := &node{
		configuration: c, log: log, level: level, settings: settings{all: c.list()},
		shutdown: make(chan commands.Parting, 1), stop: make(chan stopCause, 1), fatal: make(chan error, 1),
		maxMemory: c.MaxMemory, evict: c.OnFull == "evict", heapLimit: debug.SetMemoryLimit(-1),
	}
	n.drainTime.Store(int64(c.Drain))
	return n
}

// open puts the node together and binds its addresses. With --data it may take as long
// as the disk does, and in a cluster as long as the state takes to load.
func (n *node) open() error {
	if err := wantFiles(n.MaxClients + spareFiles); err != nil {
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
	n.handler = commands.NewHandler(n.completed(config))
	if err := n.openListeners(); err != nil {
		return errors.Join(err, n.state.close(context.Background(), commands.SaveNever))
	}
	n.allowChanges(n.level)
	return nil
}

// readFiles reads the users and the certificates for clients, which can be read again.
func (n *node) readFiles() (err error) {
	if n.users, err = n.loadUsers(); err != nil {
		return err
	}
	n.certs, err = n.openTLS(n.log)
	return err
}

// completed is the part of a Config that the state made, with the rest.
func (n *node) completed(config commands.Config) commands.Config {
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

// network is for INFO, which only clients of the server ask for.
func (n *node) network() commands.Network {
	s := n.server.Stats()
	return commands.Network{Rejected: s.Rejected, RejectedHTTP: s.RejectedHTTP, InputBytes: s.InputBytes, OutputBytes: s.OutputBytes}
}

// openListeners binds the addresses.
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
		Commit:       n.state.commit(),
		Logger:       n.log,
	})
	if err != nil {
		return n.nextPort(err)
	}
	return n.openAdmin()
}

// spareFiles are the files that are open besides connections.
const spareFiles = 64

// askShutdown is for SHUTDOWN. It does not wait.
func (n *node) askShutdown(p commands.Parting) {
	select {
	case n.shutdown <- p:
	default:
	}
}

// gcPercent is how much the heap, which is keys, may grow between two collections.
// The collector does not look into keys, so one costs little, and what is not yet
// collected is memory that keys could have.
const gcPercent = 50

// limitHeap has the garbage collector work harder where the heap nears its bound:
// that of keys, and for the rest of the server a quarter as much again and 64 MB.
func (n *node) limitHeap() {
	limit := n.heapLimit
	if bound := int64(n.maxMemory); bound > 0 && bound < math.MaxInt64/2 {
		limit = bound + bound/4 + 64<<20
	}
	debug.SetMemoryLimit(limit)
}
