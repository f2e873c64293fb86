package commands

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/engine"
)

// A Clock returns the time of a batch. It never goes back. Any number of goroutines may
// call it.
type Clock interface{ Now() engine.Instant }

// Config holds the dependencies and options of a Handler.
type Config struct {
	Exec Exec
	// Engine returns the engine for reads outside of batches: DBSIZE, SCAN, INFO. It is
	// called each time, because a cluster node that installs a snapshot continues with
	// another engine.
	Engine    func() *engine.Engine
	Clock     Clock
	TestClock *TestClock // nil unless --test-clock: DEBUG ADVANCE-TIME moves it
	Cluster   Cluster    // nil: NoCluster
	Store     Store      // nil: NoStore
	Password  string     // of the default user; empty: it needs none if there is no users file
	Version   string
	// Users, unless nil, are the users of a file, and LoadUsers reads the file again;
	// both are set or neither. The default user is not among them if there is a Password.
	Users     *users.Table
	LoadUsers func() (*users.Table, error)
	Log       *slog.Logger // nil: slog.Default()
	// Options returns the server's options, for CONFIG GET and INFO. Sizes are plain
	// numbers of bytes, durations of seconds; the password is not among them. Called at
	// any time from any session; nil: there are none.
	Options func() []Option
	// Rewrite writes the settings changed since the start into the configuration file,
	// for CONFIG REWRITE. It must not block: it calls done once, from any goroutine. nil:
	// there is no file.
	Rewrite func(done func(error))
	// Network returns the network counters for INFO. Called at any time from any session;
	// nil: nothing is counted.
	Network func() Network
	// Shutdown begins the shutdown that SHUTDOWN asks for: the server drains, takes a
	// snapshot according to Parting, and exits. It must not block. nil: SHUTDOWN is
	// rejected.
	Shutdown func(Parting)

	// spawn and after replace the go statement and time.AfterFunc for logins and ACL LOAD,
	// in tests.
	spawn func(func())
	after func(time.Duration, func())
}

// An Option is one option of the server: its name and its value as text.
type Option struct {
	Name, Value string
	// Set, unless nil, parses a new value for CONFIG SET and returns a function that
	// applies it, which can not fail. Its error names the allowed values; nothing has
	// changed then. nil: the option can not change while the server runs.
	Set func(value string) (apply func(), err error)
}

// A Handler is the state that all sessions of a server share. Any number of goroutines
// may call its methods.
type Handler struct {
	config   Config
	registry *registry
	start    time.Time
	runID    string // 40 hexadecimal digits, new at each start
	logins   *auth.Logins
	denied   denials
	stats    *stats
	hub      *hub
	slow     *slowWatch
	pause    pause
	// attention holds the hooks that apply to every command, as bits; it is mostly 0.
	attention atomic.Int32

	// serving is cancelled by Drain, through drain.
	serving context.Context
	drain   context.CancelFunc

	spare spare

	mu       sync.Mutex
	sessions map[int64]*Session
	lastID   int64
}

// denials count the commands denied to users.
type denials struct{ commands, keys atomic.Int64 }

// Denied counts, since the start, failed logins including those denied without a check,
// commands denied because a group is missing, and commands denied because of a key.
type Denied struct{ Logins, Commands, Keys int64 }

// Denied costs three atomic loads.
func (h *Handler) Denied() Denied {
	return Denied{h.logins.Failed(), h.denied.commands.Load(), h.denied.keys.Load()}
}

// NewHandler makes a Handler. Requires: Config.Exec, Engine and Clock are set.
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
	if c.spawn == nil {
		c.spawn = func(f func()) { go f() }
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
	h.logins = auth.New(auth.Config{Password: c.Password, Users: c.Users, Load: c.LoadUsers, Log: c.Log, Spawn: c.spawn, After: c.after})
	h.attend(guarded, c.Users != nil)
	return h
}

// NewSession makes the session of a connection. The caller must call Close at its end.
func (h *Handler) NewSession(c Client) *Session {
	s := &Session{h: h, client: c, account: h.logins.Initial()}
	s.done = s.arrived
	s.restrict()
	h.mu.Lock()
	h.lastID++
	s.id = h.lastID
	h.sessions[s.id] = s
	h.mu.Unlock()
	s.stats = h.stats.stripe(s.id)
	s.w.Codes = &h.stats.codes
	h.stats.connections.Add(1)
	return s
}

// Drain releases waiting clients: CLIENT PAUSE ends, logins are answered, and WAIT
// returns at once from now on. Any goroutine may call it; the server does so before it
// waits for commands in flight.
func (h *Handler) Drain() {
	h.drain()
	h.unpause()
	h.logins.End()
}

// SetLoading sets whether the state is loading. While it is, commands that need the state
// are rejected. Any goroutine may call it.
func (h *Handler) SetLoading(on bool) { h.attend(loading, on) }

func (h *Handler) loading() bool { return h.attention.Load()&loading != 0 }

// options returns the server's options, or none.
func (h *Handler) options() []Option {
	if h.config.Options == nil {
		return nil
	}
	return h.config.Options()
}

// sinceStart returns nanoseconds of the monotonic clock.
func (h *Handler) sinceStart() int64 { return int64(time.Since(h.start)) }

// now returns the time for reads outside of batches.
func (h *Handler) now() engine.Instant { return h.config.Clock.Now() }
