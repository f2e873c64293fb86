package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of the requests of clients.
const (
	maxHeaderBytes = 16 << 10
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = time.Minute // a profile may take that long
	idleTimeout    = time.Minute
)

// A Server is the admin listener. Concurrency: any goroutine may call its methods.
type Server struct {
	api
	listener net.Listener
	http     *http.Server
}

// New binds the address; requests are served from Serve on. The caller must Shutdown the
// returned Server.
func New(cfg Config) (*Server, error) {
	cfg.setDefaults()
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin listener: %w", err)
	}
	s := &Server{
		api:      newAPI(cfg, listener.Addr()),
		listener: newBoundedListener(listener, maxConnections, maxConnectionsPerSite, cfg.TLS),
	}
	s.http = &http.Server{
		Handler:           s.handler(),
		ConnContext:       withConnection,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		// handshake errors of unauthenticated clients
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	s.http.Protocols.SetHTTP1(true)
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves requests and records the history until Shutdown. It must be called at most
// once.
func (s *Server) Serve() {
	defer s.history.start()()
	defer s.ruleHours.start(s.cfg.Handler.Config().Rules.Current)()
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
