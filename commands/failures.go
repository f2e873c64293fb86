package commands

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// failureLogInterval is how often failed logins of an address are logged at most.
	failureLogInterval = time.Minute
	// maxFailureHosts is how many addresses are told apart in the log within that.
	maxFailureHosts = 256
	// otherAddresses is what the rest is logged as.
	otherAddresses = "others"
)

// failures count and log logins that failed. Many may use them at once.
type failures struct {
	log   *slog.Logger
	after func(time.Duration, func()) // time.AfterFunc, but in tests
	total atomic.Int64

	mu      sync.Mutex
	repeats map[string]int64 // by address: how many since the last line about it
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: log, repeats: map[string]int64{}, after: func(d time.Duration, f func()) { time.AfterFunc(d, f) }}
}

// record logs the first failed login of an address, and counts those that follow
// within failureLogInterval for a line at its end, which is a warning if they are many. user is empty unless there is such a
// user: what people type instead of a name may be a password.
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
	f.log.Info("a login failed", "from", host, "user", user)
	f.after(failureLogInterval, func() { f.logRepeated(host) })
}

// logRepeated logs what has come together.
func (f *failures) logRepeated(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.repeats[host]; n > 0 {
		f.repeats[host] = 0
		level := slog.LevelInfo
		if n >= loginBurst {
			level = slog.LevelWarn
		}
		f.log.Log(context.Background(), level, "more logins failed", "from", host, "count", n, "within", failureLogInterval)
		f.after(failureLogInterval, func() { f.logRepeated(host) })
		return
	}
	delete(f.repeats, host)
}
