package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"limitsrv/certs"
	"limitsrv/commands"
	"limitsrv/commands/users"
	"limitsrv/server"
	"limitsrv/server/admin"
)

// A node is a server with all that it stands on.
type node struct {
	options  *options
	log      *slog.Logger
	state    state
	handler  *commands.Handler
	server   *server.Server
	admin    *admin.Server // nil: there is none
	certs    *certs.Source // nil: none
	settings settings
	secrets  map[string]string // options that settings lacks, as of the start
	// readAgain reads the options as the start did, and reloads are what else SIGHUP
	// has read again: each leaves all as it was if it fails, and logs why.
	readAgain func() (*configuration, error)
	reloads   []func() error
	rewriting sync.Mutex
	users     *users.Table // as the file said at the start; nil: there is none
	// maxMemory and evict are the bound of keys, as of now; settings.mu guards them.
	maxMemory size
	evict     bool
	drainTime atomic.Int64 // --drain, in nanoseconds
	heapLimit int64        // that of the environment, which holds where there is no bound
	shutdown  chan bool    // has one element once SHUTDOWN was asked for: whether to save
	fatal     chan error   // has one element once the state can not go on
}

// newNode puts a node together and binds its addresses. level is that of log.
func newNode(c *configuration, log *slog.Logger, level *slog.LevelVar) (*node, error) {
	o := c.options
	if err := wantFiles(o.MaxClients + spareFiles); err != nil {
		log.Warn("fewer connections than --max-clients will fit", "error", err)
	}
	n := &node{
		options: o, log: log, settings: settings{all: c.list()}, secrets: c.secrets(), shutdown: make(chan bool, 1), fatal: make(chan error, 1),
		maxMemory: o.MaxMemory, evict: o.OnFull == "evict", heapLimit: debug.SetMemoryLimit(-1),
	}
	debug.SetGCPercent(gcPercent)
	n.limitHeap()
	if err := n.readFiles(); err != nil {
		return nil, err
	}
	config, err := n.openState()
	if err != nil {
		return nil, err
	}
	config.Exec, config.Engine, config.Clock = n.state, n.state.Engine, n.state
	if config.Cluster == nil {
		config.Cluster = clusterOf(o.ClusterMode)
	}
	config.Password, config.Version, config.Log = o.Password, version, log
	config.Users, config.LoadUsers = n.users, o.loadUsers
	config.Options, config.Shutdown = n.settings.list, n.askShutdown
	if o.Config != "" {
		config.Rewrite = n.rewriteFile
	}
	n.handler = commands.NewHandler(config)
	n.server, err = server.New(server.Config{
		Listen:       o.Listen,
		TLSListen:    o.TLSListen,
		TLS:          n.certs.Config,
		UnixSocket:   o.Unixsocket,
		MaxClients:   o.MaxClients,
		Limits:       o.limits(),
		WriteTimeout: o.WriteTimeout,
		IdleTimeout:  o.IdleTimeout,
		Loops:        o.IOThreads,
		NewSession:   func(c commands.Client) server.Session { return n.handler.NewSession(c) },
		Commit:       n.state.commit(),
		Logger:       log,
	})
	if err == nil {
		err = n.openAdmin()
	}
	if err != nil {
		return nil, errors.Join(err, n.state.close(context.Background(), false))
	}
	n.drainTime.Store(int64(o.Drain))
	n.allowChanges(level)
	return n, nil
}

// readFiles reads the users and the certificates, which can be read again.
func (n *node) readFiles() (err error) {
	if n.users, err = n.options.loadUsers(); err != nil {
		return err
	}
	if n.users != nil {
		n.reloads = append(n.reloads, func() error { return n.handler.ReloadUsers() })
	}
	if n.certs, err = n.options.openTLS(n.log); n.certs != nil {
		n.reloads = append(n.reloads, n.certs.Reload)
	}
	return err
}

// clusterOf is the cluster of a mode.
func clusterOf(mode string) commands.Cluster {
	if mode == "emulated" {
		return commands.NewEmulated()
	}
	return commands.NoCluster{}
}

// spareFiles are the files that are open besides connections.
const spareFiles = 64

// askShutdown is for SHUTDOWN. It does not wait.
func (n *node) askShutdown(save bool) {
	select {
	case n.shutdown <- save:
	default:
	}
}

// run serves until a signal or SHUTDOWN and then drains. A second signal ends it
// at once, with an error. While the state is being loaded it serves as well, and
// tells clients so. A hangup has it reload; one that comes before the state is loaded
// waits for that.
func (n *node) run(signals, hangups <-chan os.Signal) error {
	n.log.Info("listening", "version", version, "data", n.options.Data, "fsync", n.state.fsync(),
		"addr", addressText(n.server.Addr()), "tls_addr", addressText(n.server.TLSAddr()), "unixsocket", n.options.Unixsocket, "max_clients", n.options.MaxClients,
		"max_memory", n.options.MaxMemory.String(), "on_full", n.options.OnFull, "test_clock", n.options.TestClock)
	loading, cancel := context.WithCancel(context.Background())
	defer cancel()
	n.notify("STATUS=loading")
	loaded := n.load(loading)
	defer n.followUsers(n.users)()
	go n.server.Serve()
	serving, ending := context.WithCancel(context.Background())
	defer ending()
	go n.feedWatchdog(serving, n.answers)
	stopAdmin := n.serveAdmin()
	stop, save := func() {}, true
	defer func() { stop() }()
	for {
		select {
		case err := <-loaded:
			if err != nil {
				return errors.Join(err, n.state.close(context.Background(), false))
			}
			loaded = nil
			n.handler.SetLoading(false)
			stop = n.startSweeping()
			n.notifyReady()
			go n.reloadOn(serving, hangups)
			continue
		case s := <-signals:
			n.log.Info("shutting down", "signal", s.String(), "drain", n.drainFor())
		case err := <-n.fatal:
			return err
		case save = <-n.shutdown:
			n.log.Info("shutting down", "command", "SHUTDOWN", "save", save, "drain", n.drainFor())
		}
		break
	}
	ending()
	n.notify(daemon.SdNotifyStopping, "STATUS=answering what is under way")
	if loaded != nil {
		cancel()
		select {
		case <-loaded:
		case <-signals: // a disk that hangs ends no loading
			return errAgain
		}
	}
	n.stepDown()
	if err := n.drain(signals); err != nil {
		return err
	}
	stopAdmin()
	return n.end(signals, save)
}

// addressText is where the server listens, for people.
func addressText(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// drainFor is how long a shutdown may take to answer what is under way.
func (n *node) drainFor() time.Duration { return time.Duration(n.drainTime.Load()) }

// stepDown has others decide before this node ends: what clients still ask goes there.
func (n *node) stepDown() {
	ctx, cancel := context.WithTimeout(context.Background(), n.drainFor())
	defer cancel()
	n.state.stepDown(ctx)
}

// errAgain is how a second signal ends the program.
var errAgain = errors.New("a second signal: ended at once, without answering what was under way")

// drain answers what is under way. Connections that are not done when the time
// is over are cut off.
func (n *node) drain(signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), n.drainFor())
	defer cancel()
	n.handler.Drain()
	drained := make(chan error, 1)
	go func() { drained <- n.server.Shutdown(ctx) }()
	select {
	case err := <-drained:
		if err != nil {
			n.log.Warn("stopped before all was answered", "error", err)
		}
		return nil
	case <-signals:
		return errAgain
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
