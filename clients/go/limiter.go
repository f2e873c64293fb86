// Package limitsrv limits requests with a limitsrv server: a bounded wait for its answer,
// a policy for its failures, a local memory of denials, and middleware for net/http.
package limitsrv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	defaultTimeout  = 100 * time.Millisecond
	defaultRemember = 10 * time.Second

	// After failuresToPause failures without a success between them, requests are not sent
	// for pause; then a request is sent to try again.
	failuresToPause = 5
	pause           = 250 * time.Millisecond

	reportPeriod = 10 * time.Second // at least, between two reports of errors
)

// ErrPaused is the error of requests that are not sent because the last requests failed.
var ErrPaused = errors.New("limitsrv: not asked, because its last answers failed")

// Options are the options of a Limiter. The zero value of a field is its default.
type Options struct {
	Addr               string // HOST:PORT, by default 127.0.0.1:6379
	Username, Password string
	TLS                *tls.Config

	// Timeout is the longest time that a request waits for limitsrv, connecting
	// included: 100 ms by default.
	Timeout time.Duration

	// FailClosed answers 503 while limitsrv is unavailable, instead of letting requests pass.
	FailClosed bool

	// Remember is the longest time that a denial is answered without asking again, at most
	// until the denied request would pass: 10 s by default. Below 0 no denial is
	// remembered. A reset of a key by an operator takes effect after this time.
	Remember time.Duration

	// OnError gets errors, at most one error in 10 s. By default slog logs them.
	OnError func(error)
}

// A Limiter asks a limitsrv server. It reconnects by itself. It is safe for concurrent use,
// and an application needs only one Limiter.
type Limiter struct {
	options Options
	client  *redis.Client
	denied  *memory

	mu         sync.Mutex
	names      map[string]bool // of limits
	failures   int             // since the last success
	pausedTill time.Time
	reported   time.Time
}

// New returns a Limiter, without connecting.
func New(o Options) *Limiter {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:6379"
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Remember == 0 {
		o.Remember = defaultRemember
	}
	if o.OnError == nil {
		o.OnError = func(err error) { slog.Warn("limitsrv failed", "err", err) }
	}
	return &Limiter{
		options: o,
		client: redis.NewClient(&redis.Options{
			Addr: o.Addr, Username: o.Username, Password: o.Password, TLSConfig: o.TLS,
			ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}),
		denied: newMemory(),
		names:  map[string]bool{},
	}
}

// Close ends the connections.
func (l *Limiter) Close() error { return l.client.Close() }

// Do sends a command and returns its reply within the timeout of the Limiter.
//
// Errors: the errors of go-redis, and ErrPaused.
func (l *Limiter) Do(ctx context.Context, arguments ...any) (any, error) {
	if !l.mayAsk() {
		return nil, ErrPaused
	}
	// A caller that goes away is no failure of limitsrv.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.options.Timeout)
	defer cancel()
	reply, err := l.client.Do(ctx, arguments...).Result()
	l.note(err)
	return reply, err
}

func (l *Limiter) mayAsk() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.failures >= failuresToPause && now.Before(l.pausedTill) {
		return false
	}
	l.pausedTill = now.Add(pause)
	return true
}

// note counts a failure or a success. An error reply is an answer in time, and is reported.
func (l *Limiter) note(err error) {
	l.mu.Lock()
	if _, isReply := errors.AsType[redis.Error](err); err == nil || isReply {
		l.failures = 0
	} else if l.failures++; l.failures >= failuresToPause {
		l.pausedTill = time.Now().Add(pause)
	}
	report := err != nil && time.Since(l.reported) >= reportPeriod
	if report {
		l.reported = time.Now()
	}
	l.mu.Unlock()
	if report {
		l.options.OnError(err)
	}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// claim takes the name of a limit, which two limits may not share: they would share a bucket.
func (l *Limiter) claim(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !nameForm.MatchString(name) {
		return fmt.Errorf("limitsrv: a limit needs a name of 1 to 64 of A-Z a-z 0-9 . _ -, got %q", name)
	}
	if l.names[name] {
		return fmt.Errorf("limitsrv: two limits have the name %q and would share their counters: "+
			"use one limit for both, or another name", name)
	}
	l.names[name] = true
	return nil
}
