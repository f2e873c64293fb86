package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"limitsrv/commands"
	"limitsrv/server"
)

// Bounds of the connections and requests of clients.
const (
	maxConnections = 128
	// maxConnectionsPerSite bounds the connections of one site.
	maxConnectionsPerSite = 64
	maxHeaderBytes        = 16 << 10
	maxBodyBytes          = 8 << 10
	headerTimeout         = 5 * time.Second
	readTimeout           = 10 * time.Second
	writeTimeout          = time.Minute // a profile may take that long
	idleTimeout           = time.Minute
)

// Config holds the address and the sources of the replies. Required are Listen and
// Handler.
type Config struct {
	Listen string // HOST:PORT
	// TLS returns the configuration for a new connection; nil: no TLS.
	TLS     func() *tls.Config
	Handler *commands.Handler
	// Traffic returns the counts of the client server; nil: none.
	Traffic func() server.Stats
	Page    http.Handler // serves GET / and the page's files; nil: no page
	Pprof   bool         // serve profiles
	// KeyMetrics includes names of keys in /metrics.
	KeyMetrics bool
	// Expires return the expiry of the certificates in use, by purpose.
	Expires map[string]func() time.Time
	Logger  *slog.Logger // slog.Default()
}

// A Server is the admin listener. Concurrency: any goroutine may call its methods.
type Server struct {
	cfg      Config
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	logins   *logins
	// pendingLogins limits the logins under way.
	pendingLogins *siteLimiter
	searching     chan struct{} // semaphore of the searches
	history       *history
	metrics       http.Handler
}

// New binds the address; requests are served from Serve on. The caller must Shutdown the
// returned Server.
func New(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Traffic == nil {
		cfg.Traffic = func() server.Stats { return server.Stats{} }
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin listener: %w", err)
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, listener: newBoundedListener(listener, maxConnections, maxConnectionsPerSite, cfg.TLS),
		pendingLogins: newSiteLimiter(maxPendingLogins, maxPendingLoginsPerSite),
		searching:     make(chan struct{}, maxSearches),
		history:       newHistory(newSampler(cfg)),
	}
	s.logins = newLogins(listener.Addr(), cfg.TLS != nil)
	s.metrics = newMetrics(cfg)
	s.http = &http.Server{
		Handler:           s.handler(),
		ConnContext:       withConnection,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug), // handshake errors of unauthenticated clients
	}
	s.http.Protocols.SetHTTP1(true)
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves requests and records the history until Shutdown. It must be called at most
// once.
func (s *Server) Serve() {
	stop := s.history.start()
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("admin listener failed", "error", err)
	}
}

// Shutdown stops accepting and waits for the requests under way. When ctx ends the rest
// are cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.listener.Close() // if Serve was never called
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("admin listener: %w", err), s.http.Close())
	}
	return nil
}
