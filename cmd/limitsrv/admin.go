package main

import (
	"context"
	"time"

	"limitsrv/server/admin"
	"limitsrv/server/admin/page"
)

// openAdmin binds the admin listener, if --admin is given.
func (n *node) openAdmin() (err error) {
	if n.Admin == "" {
		return nil
	}
	cfg := admin.Config{
		Listen:     n.Admin,
		Handler:    n.handler,
		Traffic:    n.server.Stats,
		Page:       page.Handler(),
		Pprof:      n.AdminPprof,
		KeyMetrics: n.AdminKeyMetrics,
		Expires:    make(map[string]func() time.Time),
		Logger:     n.log,
	}
	for use, source := range n.sources() {
		cfg.Expires[use] = source.Expires
	}
	if n.AdminTLS {
		cfg.TLS = n.certs.Config
	}
	n.admin, err = admin.New(cfg)
	return err
}

// closeAdmin closes an admin listener that was never served.
func (n *node) closeAdmin() error {
	if n.admin == nil {
		return nil
	}
	return n.admin.Shutdown(context.Background())
}

// adminDrain bounds the time that the admin listener takes to answer its last requests.
const adminDrain = time.Second

// serveAdmin serves the admin listener until stop is called.
func (n *node) serveAdmin() (stop func()) {
	if n.admin == nil {
		return func() {}
	}
	n.log.Info("admin listener", "addr", n.admin.Addr().String())
	go n.admin.Serve()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminDrain)
		defer cancel()
		if err := n.admin.Shutdown(ctx); err != nil {
			n.log.Warn("admin listener: shutdown failed", "error", err)
		}
	}
}
