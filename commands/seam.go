package commands

import (
	"time"

	"limitsrv/engine"
)

// A Clock tells the time of a batch. Many may call at once; it never goes back.
type Clock interface{ Now() engine.Instant }

// Config is what a Handler needs to know.
type Config struct {
	Exec      Exec
	Engine    *engine.Engine // for reads that are no ops: DBSIZE, SCAN, INFO
	Clock     Clock
	TestClock *TestClock // nil unless --test-clock: lets DEBUG ADVANCE-TIME move it
	Password  string     // empty: no login is asked for
	Version   string
	Options   func() []Option // name and value of each option of the server, for CONFIG GET and INFO
	Shutdown  func()          // asked for by SHUTDOWN
}
type Option struct{ Name, Value string }
type TestClock struct{}

// A Handler is what all sessions of a server share.
type Handler struct{}

func NewHandler(c Config) *Handler { panic("seam") }

// A Client is what the transport tells about a connection.
type Client struct {
	Addr, LocalAddr string // as CLIENT LIST shows them; a unix socket is PATH:0
	Since           time.Time
	Close           func() // asks the transport to close the connection; any goroutine may call it (CLIENT KILL)
	// Wake tells the transport, from any goroutine, that a batch that was away has come back: call Resume.
	Wake func()
}

// A Session is one connection. One goroutine at a time may use it.
type Session struct {
	// Out is replies not yet written: the transport takes them and cuts Out.
	Out []byte
}

func (h *Handler) NewSession(c Client) *Session { panic("seam") }

// Do takes a command (args[0] is its name; the slices stay untouched until Flush says they are done with).
// Decisions are gathered, so that a pipeline is one batch: their replies are in Out after Flush only.
// False says that it was not taken since a batch is away: keep it, wait for Wake, call Resume, then call Do again.
func (s *Session) Do(args [][]byte) bool { panic("seam") }

// Flush executes what was gathered. False says that the batch is away: the argument bytes must stay until Wake; then Resume.
func (s *Session) Flush() bool { panic("seam") }

// Resume appends the replies of a batch that has come back.
func (s *Session) Resume() { panic("seam") }

// Pending is how many ops are gathered.
func (s *Session) Pending() int { panic("seam") }

// ProtocolError appends Redis' error for bytes that are no command, after the replies of what came before, and closes.
func (s *Session) ProtocolError(text string) { panic("seam") }

// Authenticated says whether the full limits of size apply.
func (s *Session) Authenticated() bool { panic("seam") }

// Closing says that the connection is to be closed once Out is written.
func (s *Session) Closing() bool { panic("seam") }

// Close forgets the session; the transport calls it once, at the end.
func (s *Session) Close() { panic("seam") }

// Output is where Out is, for a transport that knows the session by an interface.
func (s *Session) Output() *[]byte { return &s.Out }
