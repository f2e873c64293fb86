package rls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc"

	"limitsrv/server"
)

// A Server listens for requests by rules. Concurrency: any goroutine may call its methods.
type Server struct {
	*core
	grpc           *grpc.Server // nil without an address
	http           *http.Server // nil without an address
	grpcLn, httpLn net.Listener
}

// New binds the addresses; requests are served from Serve on. The caller must Shutdown the
// returned Server.
func New(cfg Config) (*Server, error) {
	s := &Server{core: newCore(cfg)}
	var err error
	if cfg.GRPC != "" {
		if s.grpcLn, err = s.listen(cfg.GRPC); err != nil {
			return nil, fmt.Errorf("rls listener: %w", err)
		}
		s.grpc = newGRPC(s.core, s.tlsAt(cfg.GRPC))
	}
	if cfg.HTTP != "" {
		if s.httpLn, err = s.listen(cfg.HTTP); err != nil {
			return nil, errors.Join(fmt.Errorf("rls http listener: %w", err), s.Shutdown(context.Background()))
		}
		s.http = newHTTP(s.core)
		if s.tlsAt(cfg.HTTP) {
			s.httpLn = tls.NewListener(s.httpLn, s.tlsConfig())
		}
	}
	return s, nil
}

// listen binds an address.
func (s *Server) listen(address string) (net.Listener, error) {
	ln, err := server.Listen(address)
	if err != nil {
		return nil, err
	}
	if s.cfg.Count != nil {
		ln = s.cfg.Count(ln)
	}
	return &namedListener{ln}, nil
}

// GRPCAddr returns the address of the gRPC listener; nil: no listener.
func (s *Server) GRPCAddr() net.Addr { return addrOf(s.grpcLn) }

// HTTPAddr returns the address of the HTTP listener; nil: no listener.
func (s *Server) HTTPAddr() net.Addr { return addrOf(s.httpLn) }

func addrOf(ln net.Listener) net.Addr {
	if ln == nil {
		return nil
	}
	return ln.Addr()
}

// Serve serves requests until Shutdown has ended. It must be called at most once.
func (s *Server) Serve() {
	var serving sync.WaitGroup
	if s.grpc != nil {
		serving.Go(func() {
			if err := s.grpc.Serve(s.grpcLn); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				s.log.Error("rls listener failed", "error", err)
			}
		})
	}
	if s.http != nil {
		serving.Go(func() {
			if err := s.http.Serve(s.httpLn); !errors.Is(err, http.ErrServerClosed) {
				s.log.Error("rls http listener failed", "error", err)
			}
		})
	}
	serving.Wait()
}

// Shutdown stops accepting and answers the calls in progress. When ctx ends the rest are
// cut off, which is an error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain()
	var stopping sync.WaitGroup
	var grpcErr, httpErr error
	if s.grpcLn != nil {
		stopping.Go(func() { grpcErr = s.stopGRPC(ctx) })
	}
	if s.http != nil {
		stopping.Go(func() {
			defer s.httpLn.Close() // if Serve was never called
			if err := s.http.Shutdown(ctx); err != nil {
				httpErr = errors.Join(fmt.Errorf("rls http listener: %w", err), s.http.Close())
			}
		})
	}
	stopping.Wait()
	return errors.Join(grpcErr, httpErr)
}

func (s *Server) stopGRPC(ctx context.Context) error {
	defer s.grpcLn.Close() // if Serve was never called
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-stopped
		return fmt.Errorf("rls listener: %w", context.Cause(ctx))
	}
}

// A namedListener gives its connections a remote address with a text that is made once, as
// CLIENT LIST shows it: both ends of a unix socket by its path.
type namedListener struct{ net.Listener }

func (l *namedListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	at := nc.RemoteAddr()
	name := &namedAddr{at, at.String()}
	if at.Network() == "unix" {
		name.text = l.Addr().String() + ":0"
	}
	return &namedConn{nc, name}, nil
}

type namedConn struct {
	net.Conn
	remote *namedAddr
}

func (c *namedConn) RemoteAddr() net.Addr { return c.remote }

type namedAddr struct {
	net.Addr
	text string
}

func (a *namedAddr) String() string { return a.text }
