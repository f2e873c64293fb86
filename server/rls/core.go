package rls

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/server"
	"limitsrv/server/access"
	"limitsrv/server/rls/envoy"
)

// Bounds of the logins under way at once: of all, and of one site.
const (
	maxPendingLogins        = 112
	maxPendingLoginsPerSite = 56
)

// Times of connections.
const (
	handshakeTimeout = 10 * time.Second
	idleTimeout      = time.Minute
)

// A core decides the requests of both listeners. Concurrency: any goroutine may use it.
type core struct {
	cfg      Config
	log      *slog.Logger
	access   *access.Access
	calls    sync.Pool       // of *call
	draining context.Context // ends when Shutdown begins
	drain    context.CancelFunc
}

func newCore(cfg Config) *core {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	s := &core{cfg: cfg, log: cfg.Logger, access: access.New(cfg.Logins, maxPendingLogins, maxPendingLoginsPerSite)}
	s.calls.New = func() any { return newCall(cfg.Options) }
	s.draining, s.drain = context.WithCancel(context.Background())
	return s
}

// isReady reports whether requests can be answered.
func (s *core) isReady() bool {
	return s.draining.Err() == nil && (s.cfg.Ready == nil || s.cfg.Ready())
}

// tlsAt reports whether connections to an address use TLS.
func (s *core) tlsAt(address string) bool { return s.cfg.TLS != nil && !server.IsUnix(address) }

// tlsConfig returns a configuration that asks for another configuration for each
// connection.
func (s *core) tlsConfig() *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.cfg.TLS(), nil }}
}

// A call is a request of Envoy's service, with its buffers. It is used again.
type call struct {
	reader            envoy.Reader
	writer            envoy.Writer
	message, response []byte
	request           *checks.Request
	// form appends the response in the form of the protocol; protobuf or JSON.
	form     func(dst []byte, q *checks.Request, a *checks.Answer) []byte
	onAnswer func(*checks.Answer) // writes the response
	allowed  bool                 // as answered
}

func newCall(o envoy.Options) *call {
	c := &call{writer: envoy.Writer{Options: o}}
	c.onAnswer = func(a *checks.Answer) {
		c.allowed = a.Allowed
		c.response = c.form(c.response[:0], c.request, a)
	}
	return c
}

// shorten shortens the values of c's request that are too long for rules. An error would let the
// request pass where Envoy allows requests after an error, and its client chooses many values, such as
// the path.
func (s *core) shorten(c *call) {
	if !c.reader.HasLong() {
		return
	}
	d := s.cfg.Decider.Domain(string(c.request.Domain))
	for _, descriptor := range c.request.Descriptors {
		for i := range descriptor.Entries {
			if e := &descriptor.Entries[i]; len(e.Value) > rules.MaxValueBytes {
				e.Value = d.Shorten(e.Key, e.Value)
			}
		}
	}
}

// decide decides the request of c, and gives c back if that fails, unless it may still be
// in use.
func (s *core) decide(ctx context.Context, c *call, by session.Call) error {
	err := s.cfg.Decider.Check(ctx, by, c.request, c.onAnswer)
	if err != nil && ctx.Err() == nil {
		s.calls.Put(c)
	}
	return err
}
