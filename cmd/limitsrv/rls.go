package main

import (
	"context"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/session"
	"limitsrv/server/rls"
	"limitsrv/server/rls/envoy"
)

// openRLS binds the listeners for requests by rules, if --rls or --rls-http is given.
func (n *node) openRLS() (err error) {
	if n.RLS == "" && n.RLSHTTP == "" {
		return nil
	}
	cfg := rls.Config{
		GRPC:    n.RLS,
		HTTP:    n.RLSHTTP,
		Decider: decider{n.handler, n.rules},
		Logins:  n.handler.Logins(),
		Ready:   func() bool { return n.handler.NotReady() == "" },
		Count:   n.server.Counted,
		Options: envoy.Options{Headers: rlsHeaders[n.RLSHeaders], Metadata: n.RLSMetadata, Now: n.state.Now},
		Logger:  n.log,
	}
	if n.RLSTLS {
		cfg.TLS = n.certs.Config
	}
	n.rls, err = rls.New(cfg)
	return err
}

// A decider decides requests by the rules of the node.
type decider struct {
	*session.Handler
	rules *live.Keeper
}

// Domain returns a domain of the current rules, or nil.
func (d decider) Domain(name string) *rules.Domain { return d.rules.Current().Set.Domain(name) }

// rlsHeaders are the headers of --rls-headers; off means no headers.
var rlsHeaders = map[string]checks.HeaderSet{"x": checks.XHeaders, "ratelimit": checks.PlainHeaders,
	"draft": checks.DraftHeaders}

// serveRLS serves requests by rules until stop is called; it answers those in progress
// until ctx ends.
func (n *node) serveRLS() (stop func(ctx context.Context)) {
	if n.rls == nil {
		return func(context.Context) {}
	}
	n.log.Info("rules listeners", "rls", addressText(n.rls.GRPCAddr()), "rls_http", addressText(n.rls.HTTPAddr()))
	go n.rls.Serve()
	return func(ctx context.Context) {
		if err := n.rls.Shutdown(ctx); err != nil {
			n.log.Warn("rules listeners: stopped before every request was answered", "error", err)
		}
	}
}
