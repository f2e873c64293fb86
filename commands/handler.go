package commands

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/users"
	"limitsrv/engine"
)

// A Clock tells the time of a batch. Many may call at once; it never goes back.
type Clock interface{ Now() engine.Instant }

// Config is what a Handler needs to know.
type Config struct {
	Exec Exec
	// Engine is where reads that are no ops look: DBSIZE, SCAN, INFO. It is asked each
	// time, as a cluster that is sent a whole state goes on with another engine.
	Engine    func() *engine.Engine
	Clock     Clock
	TestClock *TestClock // nil unless --test-clock: lets DEBUG ADVANCE-TIME move it
	Cluster   Cluster    // nil: NoCluster
	Store     Store      // nil: NoStore
	Password  string     // of the default user; empty: it needs none, unless there are users
	Version   string
	// Users, unless nil, are those of a file, and LoadUsers reads that again; both go
	// together. The default user is not among them if there is a Password.
	Users     *users.Table
	LoadUsers func() (*users.Table, error)
	Log       *slog.Logger // nil: slog.Default()
	// Options are those of the server, for CONFIG GET and INFO. Sizes are in bytes
	// and durations in seconds, as plain numbers; the password is not among them.
	// Called at any time from any session; nil means none.
	Options func() []Option
	// Rewrite writes what was set since the start into the file of options, for CONFIG
	// REWRITE. It does not wait for that: done is called once, from any goroutine. nil:
	// there is no file.
	Rewrite func(done func(error))
	// Network counts for INFO. Called at any time from any session; nil: nothing is counted.
	Network func() Network
	// Shutdown is asked for by SHUTDOWN: the server drains, makes a snapshot if Parting
	// says so, and ends. It must not wait for that. nil means that SHUTDOWN is refused.
	Shutdown func(Parting)
}

// An Option is one option of the server by its name and value as text.
type Option struct {
	Name, Value string
	// Set, unless nil, reads a new value for CONFIG SET and returns what makes it hold
	// from then on, which can not fail. Its error says what the value may be; nothing
	// has changed then. nil: the option is as it was when the server started.
	Set func(value string) (apply func(), err error)
}

// A Handler is what all sessions of a server share. Its methods may be called by
// many at once.
type Handler struct {
	config   Config
	registry *registry
	start    time.Time
	runID    string // 40 hexadecimal digits, another one at each start
	logins   *logins
	denied   denials
	stats    *stats
	hub      *hub
	slow     *slowWatch
	pause    pause
	// attention is what some want of every command: 0 mostly.
	attention atomic.Int32

	// serving ends with Drain, by drain.
	serving context.Context
	drain   context.CancelFunc

	spare spare

	reloading sync.Mutex
	accounts  atomic.Pointer[accounts]

	mu       sync.Mutex
	sessions map[int64]*Session
	lastID   int64
}

// denials count what was refused to users.
type denials struct{ commands, keys atomic.Int64 }

// Denied counts, since the start, logins that failed or were refused unchecked, and
// commands refused for want of a group or for a key.
type Denied struct{ Logins, Commands, Keys int64 }

// Denied costs three loads.
func (h *Handler) Denied() Denied {
	return Denied{h.logins.fails.total.Load(), h.denied.commands.Load(), h.denied.keys.Load()}
}

// NewHandler makes a Handler. Config.Exec, Engine and Clock must be set.
func NewHandler(c Config) *Handler {
	r := newRegistry(table)
	if c.Cluster == nil {
		c.Cluster = NoCluster{}
	}
	if c.Store == nil {
		c.Store = NoStore{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	serving, drain := context.WithCancel(context.Background())
	h := &Handler{
		serving:  serving,
		drain:    drain,
		config:   c,
		registry: r,
		start:    time.Now(),
		runID:    randomID(),
		stats:    newStats(r.total),
		hub:      newHub(),
		slow:     newSlowWatch(),
		sessions: make(map[int64]*Session),
	}
	h.accounts.Store(newAccounts(c.Password, c.Users))
	h.logins = newLogins(h.accounts.Load, newFailures(c.Log))
	h.attend(guarded, c.Users != nil)
	return h
}

// NewSession makes the session of a connection; whoever calls it calls Close at
// its end.
func (h *Handler) NewSession(c Client) *Session {
	s := &Session{h: h, client: c, account: h.accounts.Load().initial}
	s.done = s.arrived
	s.restrict()
	h.mu.Lock()
	h.lastID++
	s.id = h.lastID
	h.sessions[s.id] = s
	h.mu.Unlock()
	s.stats = h.stats.stripe(s.id)
	s.w.codes = &h.stats.codes
	h.stats.connections.Add(1)
	return s
}

// Drain ends what clients wait for: CLIENT PAUSE, logins, and WAIT from now on. Any goroutine
// may call it; the server does so before it waits for what is under way.
func (h *Handler) Drain() {
	h.drain()
	h.unpause()
	h.logins.end()
}

// SetLoading says whether the state is being loaded. While it is, commands that
// need it are refused. Any goroutine may call it.
func (h *Handler) SetLoading(on bool) { h.attend(loading, on) }

func (h *Handler) loading() bool { return h.attention.Load()&loading != 0 }

// options are the server's own, none if it told none.
func (h *Handler) options() []Option {
	if h.config.Options == nil {
		return nil
	}
	return h.config.Options()
}

// sinceStart is in nanoseconds, of the monotonic clock.
func (h *Handler) sinceStart() int64 { return int64(time.Since(h.start)) }

// now is the time for reads that are no ops.
func (h *Handler) now() engine.Instant { return h.config.Clock.Now() }
