package server

import (
	"cmp"
	"crypto/tls"
	"io/fs"
	"log/slog"
	"runtime"
	"time"

	"limitsrv/commands/session"
)

// Config holds the addresses to listen on and the bounds of connections. A zero field
// takes the default named beside it. Required is NewSession. Without Listen,
// TLSListen and UnixSocket the server has no clients.
type Config struct {
	Listen         string      // HOST:PORT; empty: no listener
	TLSListen      string      // HOST:PORT for TLS; empty: no listener
	UnixSocket     string      // path; empty: no listener
	UnixSocketPerm fs.FileMode // 0700
	// TLS, required with TLSListen, is called for each connection there. Sessions can be
	// resumed as long as it returns the same configuration. Concurrency: called by many
	// goroutines.
	TLS func() *tls.Config

	MaxClients   int           // DefaultMaxClients
	Limits       Limits        // DefaultLimits
	WriteTimeout time.Duration // DefaultWriteTimeout, for all replies of a batch
	IdleTimeout  time.Duration // 0: idle clients are not closed
	TCPKeepAlive time.Duration // 300 s; negative: no keepalive

	// Loops is the number of event loops: 0 for half the CPUs, because fewer loops find
	// more requests at each wake-up; negative for a goroutine per connection, as on
	// systems other than Linux.
	Loops int

	NewSession func(session.Client) Session
	// Room counts the output that clients have not read. nil: the Server creates a Room.
	Room *session.Room
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

// setDefaults fills in the defaults, except for the limits.
func (c *Config) setDefaults() {
	c.MaxClients = cmp.Or(c.MaxClients, DefaultMaxClients)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, DefaultWriteTimeout)
	c.TCPKeepAlive = cmp.Or(c.TCPKeepAlive, defaultKeepAlive)
	c.UnixSocketPerm = cmp.Or(c.UnixSocketPerm, defaultSocketPerm)
	c.Loops = cmp.Or(c.Loops, max(1, runtime.NumCPU()/2))
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Room = cmp.Or(c.Room, new(session.Room))
}
