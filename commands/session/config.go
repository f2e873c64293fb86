package session

import (
	"context"
	"log/slog"
	"time"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/backend"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/internal/turns"
)

// Config holds the dependencies and options of a Handler.
type Config struct {
	Exec backend.Exec // only the Executor calls it
	// Engine returns the engine for reads outside of batches: DBSIZE, SCAN, INFO. It is
	// called each time, because a cluster node that installs a snapshot continues with
	// another engine.
	Engine func() *engine.Engine
	Clock  backend.Clock
	// State, unless nil, reads the keys outside of batches in place of Engine, and Ask has another
	// node answer command lines: both are set at a front, which has no keys. Ask must not block. It
	// calls done once, from any goroutine, soon after ctx ends with the cause of the end.
	State backend.State
	Ask   func(ctx context.Context, q backend.Asked, done func(replies [][]byte, err error))
	// Notices are the notices that Exec sends, for the subscribers of this handler, and to
	// compile rules. nil: there are no notices, and rules are compiled when a request needs
	// them.
	Notices *engine.Notices
	// Rules are the rules of the engine. nil: a new Keeper of Engine.
	Rules     *live.Keeper
	TestClock *backend.TestClock // nil unless --test-clock: DEBUG ADVANCE-TIME moves it
	Cluster   backend.Cluster    // nil: NoCluster
	Store     backend.Store      // nil: NoStore
	Password  string             // of the default user; empty: it needs no password if there is no users file
	Version   string
	// LimitsOnly leaves out the commands on plain values.
	LimitsOnly bool
	// ScriptSteps is the budget of a script in steps; 0: scripts.DefaultSteps.
	ScriptSteps int64
	// Users, unless nil, are the users of a file, and LoadUsers reads the file again;
	// both are set or neither. The default user is not among them if there is a Password.
	Users     *users.Table
	LoadUsers func() (*users.Table, error)
	Log       *slog.Logger // nil: slog.Default()
	// Events, unless nil, gets the events of answers by rules.
	Events EventSink
	// LogValues logs the values of attributes as they are, and not the start of their hashes.
	LogValues bool
	// Options returns the server's options, for CONFIG GET and INFO. Sizes are plain
	// numbers of bytes, durations of seconds; the password is not among them. Called at any
	// time from any session; nil: there are no options.
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
	Shutdown func(backend.Parting)

	// Turns are the turns of the node. nil: the handler has its own.
	Turns *turns.Turns

	// Spawn runs a function in another goroutine: logins, ACL LOAD, slow batches, and sessions
	// that waited. After does so later: logins, ACL LOAD, and the expiry of tracked keys.
	Spawn func(func())                // nil: the go statement
	After func(time.Duration, func()) // nil: time.AfterFunc
}

// KeyPrefix is the beginning of keys that the server uses itself.
const KeyPrefix = "limitsrv:"

// An EventSink gets the events of the requests by rules that this node answered. Any goroutine may
// call it.
type EventSink interface {
	// Note gets the events of a request, at least one event. They are valid during the call, and so is
	// the result of request. It must not block.
	Note(all []checks.Event, request func() *rules.Request)
	// Status returns the state of the events.
	Status() status.Events
	// Keys returns the keys of events, which begin with KeyPrefix.
	Keys() [][]byte
}

// An Option is an option of the server: its name and its value as text.
type Option struct {
	Name, Value string
	// Set, unless nil, parses a new value for CONFIG SET and returns a function that
	// applies it, which can not fail. Its error names the allowed values; nothing has
	// changed then. nil: the option can not change while the server runs.
	Set func(value string) (apply func(), err error)
}
