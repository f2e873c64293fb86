package main

import (
	"limitsrv/commands/backend"
	"log/slog"
	"time"
)

// A stopCause is the reason of a graceful stop and its limits.
type stopCause struct {
	reason slog.Attr
	save   backend.Parting
	limits stopLimits
}

// stopLimits are the deadlines of the phases of a stop, computed at its beginning.
type stopLimits struct {
	transfer time.Time // for the leadership transfer
	clients  time.Time // for the replies to clients
	save     time.Time // for the snapshot
	end      time.Time // for the whole process
}

// never is the extra time for a snapshot that was requested explicitly: no limit in
// practice.
const never = 10 * 365 * 24 * time.Hour

// closeTime is the minimum time to close the files, regardless of the time that clients
// took. It is part of --drain if --drain is at least five times as long.
const closeTime = 2 * time.Second

func newStopLimits(now time.Time, drain time.Duration) stopLimits {
	clients := drain - min(drain/5, closeTime)
	end := max(drain, clients+closeTime)
	return stopLimits{
		transfer: now.Add(clients / 2), clients: now.Add(clients),
		save: now.Add(end - closeTime/2), end: now.Add(end),
	}
}
