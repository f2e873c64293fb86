package auth

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// failureLogInterval is the least time between two log lines about an address.
	failureLogInterval = time.Minute
	// maxFailureHosts bounds the addresses that are logged separately.
	maxFailureHosts = 256
	// otherAddresses stands for all further addresses.
	otherAddresses = "others"
)

// failures count and log failed logins. Concurrency: any number of goroutines may use
// them.
type failures struct {
	log   *slog.Logger
	after func(time.Duration, func()) // time.AfterFunc, except in tests
	total atomic.Int64

	mu      sync.Mutex
	repeats map[string]int64 // failures since the last log line, by address
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: log, repeats: map[string]int64{},
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) }}
}

// record logs the first failed login of an address, and counts further failures within
// failureLogInterval for a line at its end, which is a warning if they are many. user must
// be empty unless there is such a user: people type passwords into the name field.
func (f *failures) record(host, user string) {
	f.total.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.repeats[host]; !there && len(f.repeats) >= maxFailureHosts {
		host = otherAddresses
	}
	if _, there := f.repeats[host]; there {
		f.repeats[host]++
		return
	}
	f.repeats[host] = 0
	f.log.Info("login failed", "from", host, "user", user)
	f.after(failureLogInterval, func() { f.logRepeated(host) })
}

// logRepeated logs the failures of an address that were counted since its last line.
func (f *failures) logRepeated(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.repeats[host]; n > 0 {
		f.repeats[host] = 0
		level := slog.LevelInfo
		if n >= loginBurst {
			level = slog.LevelWarn
		}
		f.log.Log(context.Background(), level, "repeated login failures", "from", host, "count", n, "within",
			failureLogInterval)
		f.after(failureLogInterval, func() { f.logRepeated(host) })
		return
	}
	delete(f.repeats, host)
}
