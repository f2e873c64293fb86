package session

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/backend"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/tracking"
	"limitsrv/commands/waiting"
	"limitsrv/engine"
	"limitsrv/internal/turns"
)

// A Handler is the state that all sessions of a server share. Any number of goroutines
// may call its methods.
type Handler struct {
	config   Config
	executor backend.Executor
	registry *Registry
	start    time.Time
	runID    string // 40 hexadecimal digits, new at each start
	logins   *auth.Logins
	denied   denials
	rules    ruleLoads
	audit    *audit
	stats    *Stats
	hub      *Hub
	slow     *SlowLog
	pause    pause
	waiting  *waiting.Lines
	tracking *tracking.Table
	expiring atomic.Bool // see awaitExpiries
	hooks    hooks       // mostly empty

	// serving is cancelled by Drain, through drain.
	serving context.Context
	drain   context.CancelCauseFunc

	batches batchPool
	looks   sync.Pool    // empty *engine.Batch values, for WorkOf
	room    Room         // counts the bytes of all clients' answers
	granted atomic.Int64 // see Granted
	// queuedBytes is the memory of the queued commands of all transactions, waitBytes of the commands
	// that wait for elements, and watchBytes of watched keys.
	queuedBytes, waitBytes, watchBytes sharedMemory

	mu       sync.Mutex
	sessions map[int64]*Session
	lastID   int64
}

// NewHandler makes a [Handler] of the commands of a Registry. Requires: Config.Exec, Engine
// and Clock are set.
func NewHandler(c Config, r *Registry) *Handler {
	c.Cluster = cmp.Or[backend.Cluster](c.Cluster, backend.NoCluster{})
	c.Store = cmp.Or[backend.Store](c.Store, backend.NoStore{})
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Rules == nil {
		c.Rules = live.New(c.Engine, c.Log, live.Options{Series: live.DefaultSeries})
	}
	if c.Spawn == nil {
		c.Spawn = func(f func()) { go f() }
	}
	if c.Turns == nil {
		c.Turns = turns.New(c.Spawn)
	}
	if c.After == nil {
		c.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	if c.Network == nil {
		c.Network = func() Network { return Network{} }
	}
	serving, drain := context.WithCancelCause(context.Background())
	h := &Handler{
		serving:  serving,
		drain:    drain,
		config:   c,
		registry: r,
		start:    time.Now(),
		runID:    backend.NewID(),
		stats:    newStats(r.total, c.Network),
		hub:      newHub(),
		audit:    newAudit(c.Log, c.Clock, c.LogValues),
		slow:     newSlowLog(),
		rules:    ruleLoads{running: make(chan struct{}, mostLoads)},
		sessions: make(map[int64]*Session),
		looks:    sync.Pool{New: func() any { return new(engine.Batch) }},
	}
	h.tracking = h.newTracking()
	h.executor = backend.Executor{Exec: c.Exec, Leads: c.Cluster.Leads, Turns: c.Turns}
	c.Turns.CountOthers(h.stats.countOthers)
	h.waiting = waiting.New(waiting.Config{
		Do: h.executor.Do, Gather: h.executor.Gather,
		Watch: c.Notices.Watch, Down: ErrDown, Log: c.Log,
	})
	if c.Notices != nil {
		c.Notices.HandleGrowth(h.waiting.Grew)
		c.Notices.HandleChanges(h.tracking.Changed)
		c.Notices.Handle(h.hub.deliver)
		c.Notices.HandleApplied(func() { c.Rules.Current() }) // rules are compiled before a request needs them
	}
	c.Cluster.HandlePublished(h.hub.deliver)
	c.Cluster.HandleAsked(h.Answer)
	h.pause.hooks = &h.hooks
	h.logins = auth.New(auth.Config{Password: c.Password, Users: c.Users, Load: c.LoadUsers, Log: c.Log, Spawn: c.Spawn,
		After: c.After})
	h.hooks.set(guarded, c.Users != nil)
	h.hooks.set(clustered, c.Cluster.Enabled())
	return h
}

// NewSession makes the session of a connection. The caller must call Close at its end.
func (h *Handler) NewSession(c Client) *Session {
	s := &Session{h: h, client: c, account: h.logins.Initial()}
	s.done = s.arrived
	s.inbox.client, s.inbox.room = &s.client, &h.room
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

// AtFront reports whether the node has no keys: it asks another node for all that is no op.
func (h *Handler) AtFront() bool { return h.config.Ask != nil }

// Room returns the Room of all connections. The transport must add the bytes of answers that it has
// not sent yet, and remove them once they are sent.
func (h *Handler) Room() *Room { return &h.room }

// Drain releases waiting clients: CLIENT PAUSE ends, logins are answered, commands that wait
// for elements end as after their timeout, and WAIT and those return at once from now on. Any
// goroutine may call it; the server does so before it waits for commands in flight.
func (h *Handler) Drain() {
	h.drain(errDraining)
	h.executor.Turns.Hurry()
	h.pause.end()
	h.waiting.EndAll()
	h.logins.End()
}

// SetLoading sets whether the state is loading. While it is, commands that need the state
// are rejected. Any goroutine may call it.
func (h *Handler) SetLoading(on bool) { h.hooks.set(loading, on) }

// sinceStart returns nanoseconds of the monotonic clock.
func (h *Handler) sinceStart() int64 { return int64(time.Since(h.start)) }
