package main

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// run serves until a signal or SHUTDOWN and then drains. A second signal ends it
// at once, with an error. While the state is being loaded it serves as well, and
// tells clients so. A hangup has it reload; one that comes before the state is loaded
// waits for that.
func (n *node) run(signals, hangups <-chan os.Signal) error {
	n.logStart()
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

// logStart says what runs, and where.
func (n *node) logStart() {
	n.log.Info("listening", "version", version, "data", n.Data, "fsync", n.state.fsync(),
		"addr", addressText(n.server.Addr()), "tls_addr", addressText(n.server.TLSAddr()), "unixsocket", n.Unixsocket, "max_clients", n.MaxClients,
		"max_memory", n.MaxMemory.String(), "on_full", n.OnFull, "test_clock", n.TestClock)
	if n.users != nil {
		n.log.Info("the users are loaded", "users", len(n.users.Users), "file", n.Users)
	}
	for use, source := range n.sources() {
		n.log.Info("certificate", "for", use, "expires", source.Expires())
	}
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
