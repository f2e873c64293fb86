package replication

import (
	"log/slog"
	"time"

	"github.com/hashicorp/go-hclog"

	"limitsrv/internal/loglimit"
	"limitsrv/replication/raftfix"
)

const (
	// logInterval is the time until the same event is logged again.
	logInterval = 30 * time.Second
	// maxLoggedEvents bounds the remembered events.
	maxLoggedEvents = 1024
)

// newLogLimiter limits the lines about this node's own events, by name or text.
func newLogLimiter() *loglimit.Limiter[string] {
	return loglimit.New[string](logInterval, maxLoggedEvents, loglimit.Forget)
}

// newRaftLogger returns a logger for raft that logs to another logger, and the same warning
// at most once per logInterval.
func newRaftLogger(to *slog.Logger) hclog.Logger {
	return raftfix.NewLogger(to, newLogLimiter().Allow)
}
