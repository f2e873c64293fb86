package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"limitsrv/internal/beat"
)

// Bounds of the interval between sweeps for idle and blocked connections: a quarter of the
// shortest timeout.
const (
	minSweep = 10 * time.Millisecond
	maxSweep = time.Second
)

// A Server listens and serves connections. Concurrency: any goroutine may call its
// methods.
type Server struct {
	env
	addr, addrTLS net.Addr // nil: no address
	plain         carrier
	secure        *secure // nil: no TLS

	ticked      time.Time // the last tick
	stopTicking func()
	closed      chan struct{} // closed after the last connection
	shutdown    sync.Once
	starting    sync.Mutex // orders the start of accepts and closing
}

// New binds the addresses, if there are any; connections are served from Serve on. An address
// in use is an error that names it. The caller must Shutdown the returned Server.
func New(cfg Config) (*Server, error) {
	limits, err := cfg.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.TLSListen != "" && cfg.TLS == nil {
		return nil, errors.New("listening for TLS requires a certificate")
	}
	cfg.Limits = limits
	cfg.setDefaults()
	s := &Server{
		env: env{
			threadTime: threadTime,
			cfg:        cfg, log: cfg.Logger, room: cfg.Room, closing: make(chan struct{}),
			plainTLSLog: sampledLog{text: "TLS handshakes on the plain port"},
			httpLog:     sampledLog{text: "HTTP on a port for Redis clients"},
		},
		ticked: time.Now(), closed: make(chan struct{}),
	}
	s.clock.Store(1) // 0 means never
	s.SetMaxClients(cfg.MaxClients)
	s.SetIdleTimeout(cfg.IdleTimeout)
	s.SetWriteTimeout(cfg.WriteTimeout)
	if s.plain, err = newTransport(&s.env); err != nil {
		return nil, err
	}
	if cfg.TLSListen != "" {
		s.secure = newSecure(&s.env, s.plain)
	}
	if err := s.listen(); err != nil {
		for _, t := range s.transports() {
			t.unlisten()
			t.stop()
		}
		return nil, err
	}
	s.stopTicking = beat.Start(func(ctx context.Context) { beat.EveryFunc(ctx, s.sweepInterval, s.tick) })
	return s, nil
}

// listen binds the addresses, and gives the listeners to their transports.
func (s *Server) listen() error {
	if s.cfg.Listen != "" {
		ln, err := listenTCP(s.cfg.Listen, s.cfg.TCPKeepAlive)
		if err := s.give(ln, err, s.plain, &s.addr); err != nil {
			return err
		}
	}
	if s.cfg.UnixSocket != "" {
		ln, err := listenUnix(s.cfg.UnixSocket, s.cfg.UnixSocketPerm)
		if err := s.give(ln, err, s.plain, &s.addr); err != nil {
			return err
		}
	}
	if s.cfg.TLSListen == "" {
		return nil
	}
	ln, err := listenTCP(s.cfg.TLSListen, s.cfg.TCPKeepAlive)
	return s.give(ln, err, s.secure, &s.addrTLS)
}

// give gives a listener, unless making it failed with err, to a transport, and stores its address in
// addr unless that has one.
func (s *Server) give(ln net.Listener, err error, to transport, addr *net.Addr) error {
	if err != nil {
		return err
	}
	if *addr == nil {
		*addr = ln.Addr()
	}
	if err := to.listen(ln); err != nil {
		return fmt.Errorf("listen on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Addr returns the first address without TLS; nil: no listener.
func (s *Server) Addr() net.Addr { return s.addr }

// TLSAddr returns the address for TLS; nil: no listener.
func (s *Server) TLSAddr() net.Addr { return s.addrTLS }

// Serve accepts connections until Shutdown has ended. It must be called at most once.
func (s *Server) Serve() {
	s.startAccepting()
	<-s.closed
}

// startAccepting accepts connections in the background, unless Shutdown was called before.
func (s *Server) startAccepting() {
	s.starting.Lock()
	defer s.starting.Unlock()
	select {
	case <-s.closing:
		return
	default:
	}
	for _, t := range s.transports() {
		t.accept()
	}
}

// transports returns the transports in use, in the order of their drains.
func (s *Server) transports() []transport {
	if s.secure == nil {
		return []transport{s.plain}
	}
	return []transport{s.secure, s.plain}
}

// Shutdown stops accepting, answers all commands received, writes the replies and closes.
// It returns when that is done, or, if ctx ends first, with an error that says how many
// connections were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shutdown.Do(func() {
		s.starting.Lock()
		close(s.closing)
		s.starting.Unlock()
		for _, t := range s.transports() {
			t.unlisten()
		}
		for _, t := range s.transports() {
			t.drain()
		}
		go func() {
			for _, t := range s.transports() {
				<-t.done()
			}
			s.stopTicking()
			close(s.closed)
		}()
	})
	select {
	case <-s.closed:
		return nil
	case <-ctx.Done():
	}
	cut := 0
	for _, t := range s.transports() {
		cut += t.stop()
	}
	<-s.closed
	if cut == 0 {
		return nil
	}
	return fmt.Errorf("drain: %d connections closed before all commands were answered: %w", cut, context.Cause(ctx))
}

// tick advances the coarse clock and sweeps the transports.
func (s *Server) tick() {
	now := time.Now()
	s.advanceClock(now.Sub(s.ticked), s.sweepInterval())
	s.ticked = now
	for _, t := range s.transports() {
		t.sweep()
	}
	s.plainTLSLog.flush(s.log)
	s.httpLog.flush(s.log)
}

func (s *Server) sweepInterval() time.Duration {
	shortest := s.writeTimeout.Load()
	if idle := s.idleTimeout.Load(); idle > 0 {
		shortest = min(shortest, idle)
	}
	return min(max(time.Duration(shortest)/4, minSweep), maxSweep)
}

// SetMaxClients applies to new connections; existing connections stay.
func (s *Server) SetMaxClients(n int) { s.maxClients.Store(int64(n)) }

// SetIdleTimeout applies from the next sweep on, at most 1.25 s later; 0: idle clients
// are not closed.
func (s *Server) SetIdleTimeout(d time.Duration) { s.idleTimeout.Store(int64(d)) }

// SetWriteTimeout applies from the next sweep on, at most 1.25 s later. Requires: d > 0.
func (s *Server) SetWriteTimeout(d time.Duration) { s.writeTimeout.Store(int64(d)) }
