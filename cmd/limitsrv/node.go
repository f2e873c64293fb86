package main

import (
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/cmd/limitsrv/settings"
	"limitsrv/cmd/limitsrv/state"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/backend"
	"limitsrv/commands/events"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/session"
	"limitsrv/internal/certs"
	"limitsrv/internal/files"
	"limitsrv/server"
	"limitsrv/server/admin"
	"limitsrv/server/rls"
)

// A node is a server with its state, listeners, users and certificates.
type node struct {
	*options.Configuration // as read at the start
	log                    *slog.Logger
	level                  *slog.LevelVar // of log
	settings               *settings.Settings
	state                  state.Opened
	rules                  *live.Keeper
	handler                *session.Handler
	server                 *server.Server
	admin                  *admin.Server // nil without --admin
	rls                    *rls.Server   // nil without --rls and --rls-http
	users                  *users.Table  // as loaded at the start; nil without --users
	ruleFiles              *rulesFollower
	outbox                 *events.Outbox         // nil unless events are noted
	eventSecrets           *files.Secrets[string] // nil without --events-url
	certs                  *certs.Source          // for clients; nil without --tls-cert
	drainTime              atomic.Int64           // --drain, in nanoseconds
	collector              *collector
	shutdown               chan backend.Parting // receives a value when SHUTDOWN is requested
	stop                   chan stopCause       // receives a value when a graceful stop begins
	fatal                  chan error           // receives a value when the state fails for good
}

// newNode returns a node that has not read or opened anything yet. level is the level
// of log.
func newNode(c *options.Configuration, log *slog.Logger, level *slog.LevelVar) *node {
	growth := int64(heapGrowth)
	if c.Raft != "" || len(c.Front) > 0 {
		growth = clusterGrowth
	}
	n := &node{
		Configuration: c, log: log, level: level, settings: settings.New(c, log), collector: newCollector(growth),
		shutdown: make(chan backend.Parting, 1), stop: make(chan stopCause, 1), fatal: make(chan error, 1),
	}
	n.drainTime.Store(int64(c.Drain))
	return n
}

// drainFor returns the time limit of a shutdown, --drain.
func (n *node) drainFor() time.Duration { return time.Duration(n.drainTime.Load()) }

// sources returns the loaded certificates by their use.
func (n *node) sources() map[string]*certs.Source {
	all := map[string]*certs.Source{"clients": n.certs, "links": n.state.Certificates}
	maps.DeleteFunc(all, func(_ string, s *certs.Source) bool { return s == nil })
	return all
}
