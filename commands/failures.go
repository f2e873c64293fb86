package commands

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// failureSpan is how often failed logins of an address are logged at most.
	failureSpan = time.Minute
	// maxFailing is how many addresses are told apart in the log within that.
	maxFailing = 256
	// otherAddresses is what the rest is logged as.
	otherAddresses = "others"
)

// failures count and log logins that failed. Many may use them at once.
type failures struct {
	log   *slog.Logger
	after func(time.Duration, func()) // time.AfterFunc, but in tests
	total atomic.Int64

	mu    sync.Mutex
	since map[string]int64 // by address: how many since the last line about it
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: log, since: map[string]int64{}, after: func(d time.Duration, f func()) { time.AfterFunc(d, f) }}
}

// note logs the first failed login of an address, and counts those that follow
// within failureSpan for a line at its end, which is a warning if they are many. user is empty unless there is such a
// user: what people type instead of a name may be a password.
func (f *failures) note(host, user string) {
	f.total.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.since[host]; !there && len(f.since) >= maxFailing {
		host = otherAddresses
	}
	if _, there := f.since[host]; there {
		f.since[host]++
		return
	}
	f.since[host] = 0
	f.log.Info("a login failed", "from", host, "user", user)
	f.after(failureSpan, func() { f.tell(host) })
}

// tell logs what has come together.
func (f *failures) tell(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.since[host]; n > 0 {
		f.since[host] = 0
		level := slog.LevelInfo
		if n >= loginBurst {
			level = slog.LevelWarn
		}
		f.log.Log(context.Background(), level, "more logins failed", "from", host, "count", n, "within", failureSpan)
		f.after(failureSpan, func() { f.tell(host) })
		return
	}
	delete(f.since, host)
}
