package rls

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"

	"limitsrv/commands/auth"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/server/rls/envoy"
)

// A Decider decides requests by rules. Concurrency: any goroutine calls it.
type Decider interface {
	// Check decides a request of an account, and calls answer with the answer, which is
	// valid during that call only. An error is a *resp.Error for the client: ERR for a
	// mistake in the request, NOPERM, LOADING, CLUSTERDOWN, UNCERTAIN, OOM. If ctx ends first
	// the error is its cause, and the request may still be read, and decided or not.
	Check(ctx context.Context, c session.Call, q *checks.Request, answer func(*checks.Answer)) error
	// Settle executes the line of RL.COMMIT, RL.EXTEND or RL.CANCEL in c.Args. It has the errors of
	// Check.
	Settle(ctx context.Context, c session.Call) (session.Settled, error)
	// CountFailure counts a request that is answered with an error before Check is called.
	CountFailure(by session.Protocol)
	// Domain returns a domain of the current rules, or nil.
	Domain(name string) *rules.Domain
}

// Config holds the addresses and the sources of the answers. Required are Decider and
// Logins.
type Config struct {
	GRPC string // HOST:PORT or unix:PATH; empty: no listener
	HTTP string // HOST:PORT or unix:PATH; empty: no listener
	// TLS returns the configuration for a new connection, except at unix sockets; nil: no
	// TLS.
	TLS     func() *tls.Config
	Decider Decider
	Logins  *auth.Logins
	// Ready reports whether requests can be answered; nil: always.
	Ready func() bool
	// Count returns a listener that counts and bounds its connections; nil: they are not.
	Count   func(net.Listener) net.Listener
	Options envoy.Options // of the responses to Envoy's requests; Now is required
	Logger  *slog.Logger  // slog.Default()
}
