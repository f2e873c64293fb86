package admin

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"limitsrv/commands/session"
	"limitsrv/server"
)

// Config holds the address and the sources of the replies. Required are Listen and
// Handler.
type Config struct {
	Listen string // HOST:PORT
	// TLS returns the configuration for a new connection; nil: no TLS.
	TLS     func() *tls.Config
	Handler *session.Handler
	// Traffic returns the counts of the client server; nil: there is no client server.
	Traffic func() server.Stats
	Page    http.Handler // serves GET / and the page's files; nil: no page
	Pprof   bool         // serve profiles
	// KeyMetrics includes names of keys in /metrics.
	KeyMetrics bool
	// Expires return the expiry of the certificates in use, by purpose.
	Expires map[string]func() time.Time
	Logger  *slog.Logger // slog.Default()
}

// setDefaults fills in the optional sources.
func (c *Config) setDefaults() {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Traffic == nil {
		c.Traffic = func() server.Stats { return server.Stats{} }
	}
}

// intSetting returns the value of an integer setting, or 0 if it is not set.
func intSetting(h *session.Handler, setting string) int64 {
	n, _ := strconv.ParseInt(h.Option(setting), 10, 64)
	return n
}
