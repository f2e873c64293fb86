package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/beat"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/fatal"
)

// Config holds the addresses to listen on and the bounds of connections. A zero field
// takes the default named beside it. Required are NewSession and one of Listen, TLSListen
// and UnixSocket.
type Config struct {
	Listen         string      // HOST:PORT; empty: none
	TLSListen      string      // HOST:PORT for TLS; empty: none
	UnixSocket     string      // path; empty: none
	UnixSocketPerm fs.FileMode // 0700
	// TLS, required with TLSListen, is called for each connection there. Sessions can be
	// resumed as long as it returns the same configuration. Concurrency: called by many
	// goroutines.
	TLS func() *tls.Config

	MaxClients   int           // DefaultMaxClients
	Limits       Limits        // DefaultLimits
	WriteTimeout time.Duration // DefaultWriteTimeout, for all replies of a batch
	IdleTimeout  time.Duration // 0: idle clients are not closed
	TCPKeepAlive time.Duration // 300 s; negative: none

	// Loops is the number of event loops: 0 for half the CPUs, because fewer loops find
	// more requests at each wake-up; negative for a goroutine per connection, as on
	// systems other than Linux.
	Loops int

	NewSession func(session.Client) Session
	// Commit, unless nil, is called after batches were executed, perhaps of many
	// connections, and before any reply to them is written, so that an Exec can do
	// deferred work once for all of them. It is also called after a batch has gone in
	// flight. Concurrency: called by several loops and goroutines.
	Commit func()
	Logger *slog.Logger // slog.Default()
}

// Defaults of Config.
const (
	DefaultMaxClients   = 10000
	DefaultWriteTimeout = 10 * time.Second

	defaultKeepAlive  = 300 * time.Second
	defaultSocketPerm = 0o700
)

// Bounds of the interval at which the sweep finds idle and blocked connections: a quarter
// of the shortest timeout.
const (
	minSweep = 10 * time.Millisecond
	maxSweep = time.Second
)

// A transport carries bytes between sockets and sessions. There are three: event loops, a
// goroutine per connection, and the same over TLS. Concurrency: any goroutine may call
// its methods.
type transport interface {
	// carry takes over an accepted connection, also if it returns an error.
	carry(net.Conn) error
	// sweep closes the overdue connections.
	sweep()
	// drain answers the commands received, then closes each connection. Requires: no
	// carry after it.
	drain()
	// stop closes the remaining connections and returns their number.
	stop() int
	// done is closed when drain or stop has completed.
	done() <-chan struct{}
}

// A Server listens and serves connections. Concurrency: any goroutine may call its
// methods.
type Server struct {
	cfg         Config
	log         *slog.Logger
	listeners   []net.Listener // except listenTLS
	listenTLS   net.Listener   // nil: none
	plain       transport
	secure      *secure     // nil: none
	traffic     [][]traffic // for each transport: one per loop, or some for all goroutines
	plainTLSLog sampledLog  // TLS handshakes on a plain port
	httpLog     sampledLog  // HTTP requests

	clients, connections, rejected atomic.Int64
	rejectedHTTP                   atomic.Int64
	unsent                         atomic.Int64 // bytes of output in the backlogs of all clients

	// Settings that may change while the server runs.
	maxClients                atomic.Int64
	idleTimeout, writeTimeout atomic.Int64 // nanoseconds

	clock    atomic.Int64 // nanoseconds since began, as of the last sweep
	began    time.Time
	closing  chan struct{} // closed by the first Shutdown
	closed   chan struct{} // closed after the last connection
	shutdown sync.Once
	starting sync.Mutex // orders the start of accepts and closing
	accepts  sync.WaitGroup
}

// New binds the addresses; connections are served from Serve on. An address in use is an
// error that names it. The caller must Shutdown the returned Server.
func New(cfg Config) (*Server, error) {
	limits, err := cfg.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Listen == "" && cfg.UnixSocket == "" && cfg.TLSListen == "" {
		return nil, errors.New("nothing to listen on: give an address or the path of a unix socket")
	}
	if cfg.TLSListen != "" && cfg.TLS == nil {
		return nil, errors.New("listening for TLS requires a certificate")
	}
	cfg.Limits = limits
	cfg.setDefaults()
	s := &Server{
		cfg: cfg, log: cfg.Logger, plainTLSLog: sampledLog{text: "TLS handshakes on the plain port"}, httpLog: sampledLog{text: "HTTP on a port for Redis clients"},
		began: time.Now(), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	s.clock.Store(1) // 0 means never
	s.SetMaxClients(cfg.MaxClients)
	s.SetIdleTimeout(cfg.IdleTimeout)
	s.SetWriteTimeout(cfg.WriteTimeout)
	if err := s.listen(); err != nil {
		s.closeListeners()
		return nil, err
	}
	if s.plain, err = newTransport(s); err != nil {
		s.closeListeners()
		return nil, err
	}
	if s.listenTLS != nil {
		s.secure = newSecure(s)
	}
	go s.tick()
	return s, nil
}

// setDefaults fills in the defaults, except for the limits.
func (c *Config) setDefaults() {
	setDefault(&c.MaxClients, DefaultMaxClients)
	setDefault(&c.WriteTimeout, DefaultWriteTimeout)
	setDefault(&c.TCPKeepAlive, defaultKeepAlive)
	setDefault(&c.UnixSocketPerm, defaultSocketPerm)
	setDefault(&c.Loops, max(1, runtime.NumCPU()/2))
	setDefault(&c.Logger, slog.Default())
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (s *Server) listen() error {
	if s.cfg.Listen != "" {
		ln, err := listenTCP(s.cfg.Listen, s.cfg.TCPKeepAlive)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, ln)
	}
	if s.cfg.UnixSocket != "" {
		ln, err := listenUnix(s.cfg.UnixSocket, s.cfg.UnixSocketPerm)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, ln)
	}
	if s.cfg.TLSListen != "" {
		var err error
		if s.listenTLS, err = listenTCP(s.cfg.TLSListen, s.cfg.TCPKeepAlive); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, ln := range s.listeners {
		ln.Close()
	}
	if s.listenTLS != nil {
		s.listenTLS.Close()
	}
}

// Addr returns the first address without TLS; nil: none.
func (s *Server) Addr() net.Addr {
	if len(s.listeners) == 0 {
		return nil
	}
	return s.listeners[0].Addr()
}

// TLSAddr returns the address for TLS; nil: none.
func (s *Server) TLSAddr() net.Addr {
	if s.listenTLS == nil {
		return nil
	}
	return s.listenTLS.Addr()
}

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
	for _, ln := range s.listeners {
		s.accepts.Go(func() { s.accept(ln, s.admit) })
	}
	if s.listenTLS != nil {
		s.accepts.Go(func() { s.accept(s.listenTLS, s.admitTLS) })
	}
}

// transports returns the transports in use.
func (s *Server) transports() []transport {
	if s.secure == nil {
		return []transport{s.plain}
	}
	return []transport{s.plain, s.secure}
}

// Shutdown stops accepting, answers all commands received, writes the replies and closes.
// It returns when that is done, or, if ctx ends first, with an error that says how many
// connections were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shutdown.Do(func() {
		s.starting.Lock()
		close(s.closing)
		s.starting.Unlock()
		s.closeListeners()
		s.accepts.Wait()
		for _, t := range s.transports() {
			t.drain()
		}
		go func() {
			for _, t := range s.transports() {
				<-t.done()
			}
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

// tick advances the coarse clock and sweeps the transports until the server is closed.
func (s *Server) tick() {
	timer := time.NewTimer(beat.Wait(s.sweepInterval()))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			s.clock.Store(int64(time.Since(s.began)))
			for _, t := range s.transports() {
				t.sweep()
			}
			s.plainTLSLog.flush(s.log)
			s.httpLog.flush(s.log)
			timer.Reset(beat.Wait(s.sweepInterval()))
		case <-s.closed:
			return
		}
	}
}

func (s *Server) sweepInterval() time.Duration {
	shortest := s.writeTimeout.Load()
	if idle := s.idleTimeout.Load(); idle > 0 {
		shortest = min(shortest, idle)
	}
	return min(max(time.Duration(shortest)/4, minSweep), maxSweep)
}

// SetMaxClients applies to new connections; existing ones stay.
func (s *Server) SetMaxClients(n int) { s.maxClients.Store(int64(n)) }

// SetIdleTimeout applies from the next sweep on, at most 1.25 s later; 0: idle clients
// are not closed.
func (s *Server) SetIdleTimeout(d time.Duration) { s.idleTimeout.Store(int64(d)) }

// SetWriteTimeout applies from the next sweep on, at most 1.25 s later. Requires: d > 0.
func (s *Server) SetWriteTimeout(d time.Duration) { s.writeTimeout.Store(int64(d)) }

// initConn creates the session of a connection. It returns an error if that panics.
func (s *Server) initConn(c *conn, nc net.Conn, traffic *traffic, wake, kill func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(p)
			err = fmt.Errorf("new session: %v", p)
		}
	}()
	c.limits = &s.cfg.Limits
	c.traffic = traffic
	c.client = clientAddr(nc.RemoteAddr(), nc.LocalAddr())
	c.active.Store(s.clock.Load())
	c.session = s.cfg.NewSession(session.Client{
		Addr:      c.client,
		LocalAddr: clientAddr(nc.LocalAddr(), nc.LocalAddr()),
		Since:     time.Now(),
		Close:     kill,
		Wake:      wake,

		OutputBytes: s.cfg.Limits.OutputBytes,
		Buffers:     c.buffers,
	})
	return nil
}

// commit is called between executing and writing. A panic in it ends the process.
func (s *Server) commit() {
	if s.cfg.Commit != nil {
		defer fatal.OnPanic()
		s.cfg.Commit()
	}
}

// closeSession closes the session of a closed connection and counts the connection's end.
func (s *Server) closeSession(c *conn) {
	defer s.recoverPanic()
	s.clients.Add(-1)
	switch c.in.Problem() {
	case resp.ProblemTLS:
		s.plainTLSLog.add(c.client, "TLS is served on its own port, if enabled")
	case resp.ProblemHTTP:
		s.rejectedHTTP.Add(1)
		s.httpLog.add(c.client, "sent by a web page, a probe or a proxy; nothing was executed")
	}
	c.session.Close()
}

// clientAddr returns addr as CLIENT LIST shows it. Both ends of a unix socket are shown
// by its path, because the client's end has no name.
func clientAddr(addr, local net.Addr) string {
	if local.Network() == "unix" {
		return local.String() + ":0"
	}
	return addr.String()
}

// recoverPanic is deferred around all calls of a session, so that a panic there ends one
// connection and not the server. Panics of a batch or of the engine end the process
// before they get here, see session.Handler.
func (s *Server) recoverPanic() {
	if p := recover(); p != nil {
		s.logPanic(p)
	}
}

// logPanic logs a recovered panic. Requires: the stack of the panic is still there.
func (s *Server) logPanic(p any) {
	s.log.Error("session panicked, connection closed", "panic", p, "stack", string(debug.Stack()))
}
