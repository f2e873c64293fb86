package main

import (
	"context"
	"errors"
	"os"

	"github.com/coreos/go-systemd/v22/daemon"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/commands/backend"
)

// run opens the state and the listeners, serves until a signal or SHUTDOWN, and then
// drains. It returns at once on a second signal or a fatal error; the process must end
// then: see supervise.
func (n *node) run(signals, hangups <-chan os.Signal) error {
	served := make(chan error, 1)
	go func() { served <- n.serve(hangups) }()
	return n.supervise(signals, served)
}

// serve opens the node and serves until n.stop receives a cause. While the state is
// loading it serves too, and replies LOADING. A hangup triggers a reload, delayed until
// the state is loaded.
func (n *node) serve(hangups <-chan os.Signal) error {
	err := n.open()
	if errors.Is(err, errStopRequested) {
		return nil
	}
	if err != nil {
		return err
	}
	n.logStart()
	loading, cancel := context.WithCancel(context.Background())
	defer cancel()
	n.notify("STATUS=loading")
	loaded := n.load(loading)
	defer n.followUsers(n.users)()
	go n.server.Serve()
	serving, ending := context.WithCancel(context.Background())
	defer ending()
	go n.feedWatchdog(serving, n.checkSelf)
	go n.collector.follow(serving)
	stopAdmin, stopRLS, stopEvents := n.serveAdmin(), n.serveRLS(), func() {}
	var cause stopCause
	for stopping := false; !stopping; {
		select {
		case err := <-loaded:
			if err != nil {
				return errors.Join(err, n.state.Close(context.Background(), backend.SaveNever))
			}
			loaded = nil
			defer n.followRules()()
			stopEvents = n.startEvents()
			n.handler.SetLoading(false)
			defer state.StartSweeping(n.state)()
			n.notifyReady()
			go n.reloadOn(serving, hangups)
		case cause = <-n.stop:
			stopping = true
		}
	}
	n.log.Info("shutting down", cause.reason, "save", cause.save.String(), "drain", n.drainFor())
	ending()
	n.notify(daemon.SdNotifyStopping, "STATUS=draining: answering the commands in progress")
	if loaded != nil {
		cancel()
		<-loaded
	}
	return n.finish(cause, stopAdmin, stopRLS, stopEvents)
}

// logStart logs the version, the main options and the bound addresses.
func (n *node) logStart() {
	n.log.Info("listening", "version", version, "data", n.Data, "fsync", n.state.Fsync(),
		"addr", addressText(n.server.Addr()), "tls_addr", addressText(n.server.TLSAddr()), "unixsocket", n.Unixsocket,
		"max_clients", n.MaxClients,
		"max_memory", n.MaxMemory.String(), "on_full", n.OnFull, "test_clock", n.TestClock)
	if n.users != nil {
		n.log.Info("users loaded", "users", len(n.users.Users), "file", n.Users)
		n.handler.WarnOfWriters()
	}
	for use, source := range n.sources() {
		n.log.Info("certificate", "for", use, "expires", source.Expires())
	}
}

// load recovers the state in the background, if it is of a kind that loads, and sends
// the result on the channel. Until then, and until a node that is alone has the rules of its
// files, the handler is loading.
func (n *node) load(ctx context.Context) <-chan error {
	loaded := make(chan error, 1)
	n.handler.SetLoading(n.state.Loads() || n.Rules != "")
	if !n.state.Loads() {
		loaded <- nil
		return loaded
	}
	go func() { loaded <- n.state.Load(ctx) }()
	return loaded
}
