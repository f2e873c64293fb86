package main

import (
	"context"
	"crypto/tls"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify tells the service manager, if there is one that wants to know.
func (n *node) notify(states ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(states, "\n")); err != nil {
		n.log.Warn("the service manager could not be told", "error", err)
	}
}

// notifyReady says that clients are served.
func (n *node) notifyReady() {
	where := slices.DeleteFunc([]string{addressText(n.server.Addr()), addressText(n.server.TLSAddr())}, func(a string) bool { return a == "" })
	n.notify(daemon.SdNotifyReady, "STATUS=serving at "+strings.Join(where, ", "))
}

// reloadOn reloads at each signal, until ctx ends.
func (n *node) reloadOn(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		n.notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec()+"STATUS=reading options again")
		n.reload()
		if ctx.Err() == nil {
			n.notifyReady()
		}
	}
}

// answers says why the server does not take and answer connections, if so. A server
// that says that it takes no more answers. Where none comes without a certificate
// nothing is asked.
func (n *node) answers(timeout time.Duration) error {
	network, address := n.pingAddress()
	switch network {
	case "":
		return nil
	case "tcp":
		address = n.server.Addr().String() // its port may have been 0
	case overTLS:
		address = n.server.TLSAddr().String()
	}
	own := func() (tls.Certificate, error) { return n.certs.Config().Certificates[0], nil } // the files may say worse by now
	_, err := ping(network, address, own, "", timeout)
	return err
}

// feedWatchdog tells the service manager, if it wants to know, that the server
// answers, for as long as it does and until ctx ends.
func (n *node) feedWatchdog(ctx context.Context, answers func(time.Duration) error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.log.Warn("no watchdog", "error", err)
	}
	if limit == 0 {
		return
	}
	ticker := time.NewTicker(limit / 2)
	defer ticker.Stop()
	for {
		err := answers(limit / 2)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.log.Error("the server does not answer itself", "error", err)
		default:
			n.notify(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
