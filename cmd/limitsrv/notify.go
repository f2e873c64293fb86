package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"limitsrv/internal/respclient"
)

// notify sends states to the service manager, if a service manager listens.
func (n *node) notify(states ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(states, "\n")); err != nil {
		n.log.Warn("notifying the service manager failed", "error", err)
	}
}

// notifyReady reports to the service manager that clients are served.
func (n *node) notifyReady() {
	where := []string{addressText(n.server.Addr()), addressText(n.server.TLSAddr())}
	if n.rls != nil {
		where = append(where, addressText(n.rls.GRPCAddr()), addressText(n.rls.HTTPAddr()))
	}
	where = slices.DeleteFunc(where, func(a string) bool { return a == "" })
	n.notify(daemon.SdNotifyReady, "STATUS=serving at "+strings.Join(where, ", "))
}

// addressText returns a as text, or "" if a is nil.
func addressText(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// reloadOn reloads on each signal, until ctx ends.
func (n *node) reloadOn(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		n.notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec()+"STATUS=reloading the configuration")
		n.reload()
		if ctx.Err() == nil {
			n.notifyReady()
		}
	}
}

// checkSelf returns an error if the server does not accept and answer connections. A
// server that rejects connections beyond --max-clients does answer. It checks nothing and returns
// nil if pingAddress finds no listener, or only the listener of --rls. A full --rls rejects
// connections without an answer, so checkSelf could not tell a full server from a dead server.
func (n *node) checkSelf(timeout time.Duration) error {
	network, address, kind := pingAddress(n.Options)
	switch {
	case network == "" || kind == forRLS:
		return nil
	case kind == forAdmin:
		address = n.admin.Addr().String() // its port may have been 0
	case network == "tcp":
		address = n.server.Addr().String()
	case network == overTLS:
		address = n.server.TLSAddr().String()
	}
	// as loaded: the files may have changed since
	own := func() (tls.Certificate, error) { return n.certs.Config().Certificates[0], nil }
	server := newProbe(kind, func(timeout time.Duration, protocols ...string) (net.Conn, error) {
		return dialSelf(network, address, own, timeout, protocols...)
	}, "", "")
	err := server.isLive(timeout)
	if errors.As(err, new(respclient.Error)) {
		return nil
	}
	return err
}

// feedWatchdog sends keep-alives to the service manager, if it has a watchdog, while
// the server answers and until ctx ends.
func (n *node) feedWatchdog(ctx context.Context, check func(time.Duration) error) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.log.Warn("watchdog disabled", "error", err)
	}
	if limit == 0 {
		return
	}
	ticker := time.NewTicker(limit / 2)
	defer ticker.Stop()
	for {
		err := check(limit / 2)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.log.Error("watchdog: the server does not answer", "error", err)
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
