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

// Bounds of what one client may ask for and take.
const (
	maxConnections = 128
	// maxConnectionsEach are those of one site.
	maxConnectionsPerSite = 64
	maxHeaderBytes        = 16 << 10
	maxBodyBytes          = 8 << 10
	headerTimeout         = 5 * time.Second
	readTimeout           = 10 * time.Second
	writeTimeout          = time.Minute // a profile may take that long
	idleTimeout           = time.Minute
)

// Config says where to listen and what to tell. Listen and Handler must be set.
type Config struct {
	Listen string // HOST:PORT
	// TLS is asked for each connection for what then holds; nil: connections are plain.
	TLS     func() *tls.Config
	Handler *commands.Handler
	// Traffic tells what the server of the clients has carried; nil: nothing.
	Traffic func() server.Stats
	// Commit is called between executing and answering; nil: nothing.
	Commit func()
	Page   http.Handler // answers GET / and what the page is made of; nil: there is none
	Pprof  bool         // serve profiles
	// KeyMetrics has /metrics tell names of keys.
	KeyMetrics bool
	// Expires are when certificates in use expire, by what they are for.
	Expires map[string]func() time.Time
	Logger  *slog.Logger // slog.Default()
}

// A Server is the listener. Its methods may be called by many at once.
type Server struct {
	cfg      Config
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	logins   *logins
	// loggingIn are for those who are in a login that may wait.
	pendingLogins *siteLimiter
	searching     chan struct{} // has an element for each search that runs
	history       *history
	metrics       http.Handler
}

// New binds the address; nobody is served until Serve. A Server that New returned
// must be Shutdown.
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
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug), // handshakes of strangers
	}
	s.http.Protocols.SetHTTP1(true)
	return s, nil
}

// Addr is the address that it listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until Shutdown, and keeps the history meanwhile. It is called once
// at most.
func (s *Server) Serve() {
	stop := s.history.start()
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("the admin listener has ended", "error", err)
	}
}

// Shutdown stops accepting and waits for the answers under way. Those that are not
// there when ctx ends are cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.listener.Close() // of a server that never served
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("admin listener: %w", err), s.http.Close())
	}
	return nil
}
