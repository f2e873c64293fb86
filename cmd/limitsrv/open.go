package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/cmd/limitsrv/settings"
	"limitsrv/commands"
	"limitsrv/commands/backend"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/session"
	"limitsrv/server"
)

// open opens the state and binds the listeners.
//
// Cost: with --data as long as the disk takes, in a cluster as long as the state takes
// to load.
func (n *node) open() error {
	if err := raiseFileLimit(n.MaxClients + spareFiles); err != nil {
		n.log.Warn("fewer connections than --max-clients will fit", "error", err)
	}
	n.collector.bound(int64(n.MaxMemory))
	if err := n.readFiles(); err != nil {
		return err
	}
	var err error
	if n.state, err = n.awaitState(); err != nil {
		return err
	}
	n.rules = live.New(n.state.Engine, n.log, live.Options{Shadow: n.RulesShadow, Series: n.RulesMetricSeries})
	n.handler = commands.NewHandler(n.config())
	if err := n.openListeners(); err != nil {
		return errors.Join(err, n.state.Close(context.Background(), backend.SaveNever))
	}
	n.allowChanges()
	return nil
}

// readFiles loads the users and the clients' certificates, and compiles the rules; all can be
// reloaded.
func (n *node) readFiles() (err error) {
	if n.users, err = n.LoadUsers(); err != nil {
		return err
	}
	if n.ruleFiles, err = newRulesFollower(n); err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	if err = n.readEventSecrets(); err != nil {
		return err
	}
	n.certs, err = n.OpenTLS(n.log)
	return err
}

// config returns the configuration of the commands.
func (n *node) config() session.Config {
	c := session.Config{
		State: n.state.Reads, Ask: n.state.Ask,
		Exec: n.state, Engine: n.state.Engine, Clock: n.state, Notices: n.state.Notices, Turns: n.state.Turns,
		TestClock: n.state.TestClock, Store: n.state.Store, Cluster: n.state.Cluster,
		Password: n.Password, LimitsOnly: n.LimitsOnly, ScriptSteps: n.ScriptSteps, Users: n.users, LoadUsers: n.LoadUsers,
		Options: n.settings.List, Shutdown: n.askShutdown, Rules: n.rules,
		Version: version, Log: n.log, LogValues: n.LogValues, Network: n.network,
	}
	n.setEvents(&c)
	if n.Config != "" {
		c.Rewrite = n.settings.Rewrite
	}
	return c
}

// network returns the traffic counters for INFO. It requires a running server, which
// every caller of INFO has.
func (n *node) network() session.Network {
	s := n.server.Stats()
	return session.Network{Rejected: s.Rejected, RejectedHTTP: s.RejectedHTTP, InputBytes: s.InputBytes,
		OutputBytes: s.OutputBytes}
}

// allowChanges makes the options settable that take effect at run time.
func (n *node) allowChanges() {
	changes := settings.Changes{
		ReserveClients: func(clients int) error { return raiseFileLimit(clients + spareFiles) },
		MaxClients:     n.server.SetMaxClients,
		IdleTimeout:    n.server.SetIdleTimeout,
		WriteTimeout:   n.server.SetWriteTimeout,
		Drain:          func(d time.Duration) { n.drainTime.Store(int64(d)) },
		LogLevel:       n.level.Set,
	}
	if len(n.Front) == 0 {
		changes.Bound = func(maxMemory int64, evict bool) {
			n.state.SetBound(maxMemory, evict)
			n.collector.bound(maxMemory)
		}
	}
	n.settings.Allow(changes)
}

// openListeners binds the addresses for clients, the admin listener, and the listeners for
// requests by rules.
func (n *node) openListeners() (err error) {
	n.server, err = server.New(server.Config{
		Listen:       n.Listen,
		TLSListen:    n.TLSListen,
		TLS:          n.certs.Config,
		UnixSocket:   n.Unixsocket,
		MaxClients:   n.MaxClients,
		Limits:       n.Limits(),
		WriteTimeout: n.WriteTimeout,
		IdleTimeout:  n.IdleTimeout,
		Loops:        n.IOThreads,
		NewSession:   func(c session.Client) server.Session { return n.handler.NewSession(c) },
		Room:         n.handler.Room(),
		Commit:       n.handler.Executor().Commit,
		Logger:       n.log,
	})
	if err != nil {
		return withNextPort(n.Options, err)
	}
	if err := n.openAdmin(); err != nil {
		return errors.Join(err, n.server.Shutdown(context.Background()))
	}
	if err := n.openRLS(); err != nil {
		return errors.Join(err, n.closeAdmin(), n.server.Shutdown(context.Background()))
	}
	return nil
}

// withNextPort suggests the next port in the error of a listener on a port in use.
func withNextPort(o *options.Options, err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	for _, l := range []struct{ option, address string }{{"--listen", o.Listen}, {"--tls-listen", o.TLSListen}} {
		host, port, splitErr := net.SplitHostPort(l.address)
		number, numberErr := strconv.Atoi(port)
		if splitErr != nil || numberErr != nil || !strings.Contains(err.Error(), "listen on "+l.address+":") {
			continue
		}
		return fmt.Errorf("%w: use another port, %s %s, or stop the server that uses it, perhaps Redis", err, l.option,
			net.JoinHostPort(host, strconv.Itoa(number+1)))
	}
	return err
}

// spareFiles is the number of file descriptors reserved for uses other than
// connections.
const spareFiles = 64

// askShutdown requests a shutdown on behalf of the SHUTDOWN command. It does not block.
func (n *node) askShutdown(p backend.Parting) {
	select {
	case n.shutdown <- p:
	default:
	}
}
