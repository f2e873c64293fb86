package auth

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
)

// Bounds of logins.
const (
	// maxHashWorkers bounds the goroutines that hash passwords, as does half the number of
	// processors minus one, if that is at least 1. Each may use up to 256 MB.
	maxHashWorkers = 2
	// maxHashQueue bounds the attempts that wait for a worker.
	maxHashQueue = 512
	// maxPending bounds the attempts that are not checked yet; each keeps its name and
	// password.
	maxPending = 4096
	// maxVerified bounds the cached (address, name, password) digests of right passwords.
	maxVerified = 16_384
	// maxWrong bounds the cached digests of wrong passwords.
	maxWrong = 4096
	// refusalDelay delays the reply to an attempt that is rejected without a check, or
	// with a password that is cached as wrong.
	refusalDelay = time.Second
)

var (
	// ErrWrongPass answers an unknown name, a wrong password and a disabled user alike.
	ErrWrongPass = resp.NewError("WRONGPASS", "invalid username-password pair or user is disabled.")

	errTooManyLogins = resp.NewError("ERR",
		"too many failed logins, from your address or in total: try again in a few seconds")
	errEnding = resp.NewError("ERR", "the server is shutting down")
)

// Logins hold the accounts of all users, and check names and passwords against slow
// hashes. Promises:
//
//   - A name and a password that were verified before from the same address are accepted
//     at once, under any load from other clients.
//   - Any other attempt takes a token of its address, which a right password returns. Some
//     tokens are reserved for new attempts, and some of these tokens for names without a
//     failed attempt from the address, so that a right password is accepted at once while
//     other attempts wait: see loginLine.
//   - A wrong password is answered in its turn, even if it was checked before its turn.
//   - A password cached as wrong takes no token.
//   - Concurrent attempts with the same name and password are checked once, so that many
//     clients that reconnect at once cost a single hash.
//   - An unknown name is checked against a hash, like a known name.
//   - At most maxHashWorkers hashes are computed at once, never on the caller's
//     goroutine.
//
// Concurrency: any number of goroutines may call the methods.
type Logins struct {
	config    Config
	current   atomic.Pointer[accounts]
	reloading sync.Mutex
	key       macKey
	timers    *timers
	limiter   *loginLimiter
	fails     *failures
	checkHash func(*users.User, []byte) bool // (*users.User).Check, except in tests

	mu       sync.Mutex
	ended    bool
	verified map[mac]*Account  // by address, name and password
	wrong    map[mac]*accounts // by name and password: the accounts that it was checked against
	pending  map[mac]*attempt  // not checked yet; by address, name and password
	checking map[mac]*attempt  // being checked; by name and password
	lines    loginLines
	queue    []*attempt // waiting for a worker
	working  int
}

// New makes the [Logins] of a server.
func New(c Config) *Logins {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Spawn == nil {
		c.Spawn = func(f func()) { go f() }
	}
	if c.After == nil {
		c.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	l := &Logins{
		config: c, fails: newFailures(c.Log), limiter: newLoginLimiter(),
		verified: map[mac]*Account{}, wrong: map[mac]*accounts{}, pending: map[mac]*attempt{}, checking: map[mac]*attempt{},
		lines:     loginLines{},
		checkHash: (*users.User).Check,
		key:       newMACKey(),
		timers:    newTimers(c.After),
	}
	l.current.Store(newAccounts(c.Password, c.Users))
	return l
}

// Begin calls done once with the account, or with an error for the client, perhaps before
// it returns. It does not retain password. from is HOST:PORT, HOST or the path of a unix socket. cancel
// withdraws the login; done may then never be called.
func (l *Logins) Begin(from, name string, password []byte, done func(*Account, error)) (cancel func()) {
	host := SiteOf(from)
	if a := l.accountWithoutCheck(host, name, password); a != nil {
		done(a, nil)
		return func() {}
	}
	w := &waiter{done}
	at, admitted, err := l.attempt(host, name, password, w)
	switch {
	case err == ErrWrongPass:
		l.fails.record(host, l.current.Load().nameOf(name))
		l.timers.schedule(refusalDelay, func() { done(nil, err) })
		return func() {}
	case err != nil:
		l.fails.record(host, "")
		l.timers.schedule(refusalDelay, func() { done(nil, err) })
		return func() {}
	case admitted:
		l.start(at)
	default:
		l.serveDue(host)
	}
	return func() { l.cancel(at, w) }
}

// accountWithoutCheck returns the account if name and password were verified before from
// host, or if the account needs no password; nil: a check is needed.
func (l *Logins) accountWithoutCheck(host, name string, password []byte) *Account {
	if a := l.current.Load().passwordless(name); a != nil {
		return a // at each request of a listener without sessions: no hash, no lock
	}
	clientKey := l.key.mac(host, name, password)
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.verified[clientKey]; a != nil && !a.revoked() {
		return a
	}
	return nil
}

// attempt adds w to the attempt with this host, name and password, creating it if needed.
// admitted reports that it must be checked now. An error means that no attempt was made.
func (l *Logins) attempt(host, name string, password []byte, w *waiter) (at *attempt, admitted bool, err error) {
	clientKey, credentialKey, pair := l.key.mac(host, name, password), l.key.mac("", name, password), l.pair(host, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	at = l.pending[clientKey]
	switch {
	case at != nil:
		at.waiters = append(at.waiters, w)
		return at, at.queued && l.admit(at), nil
	case l.wrong[credentialKey] == l.current.Load():
		return nil, false, ErrWrongPass
	case len(l.pending) >= maxPending:
		return nil, false, errTooManyLogins
	}
	at = &attempt{host: host, name: name, clientKey: clientKey, credentialKey: credentialKey, pair: pair,
		waiters: []*waiter{w}}
	if admitted = l.admit(at); !admitted && !l.lines.push(at) {
		return nil, false, errTooManyLogins
	}
	at.password = append(at.password, password...)
	l.pending[clientKey] = at
	return at, admitted, nil
}

// cancel removes a waiter that no longer waits. An attempt without waiters is not
// checked.
func (l *Logins) cancel(at *attempt, w *waiter) {
	l.mu.Lock()
	i := slices.Index(at.waiters, w)
	if i < 0 { // already answered
		l.mu.Unlock()
		return
	}
	at.waiters = slices.Delete(at.waiters, i, i+1)
	l.limiter.recordAbandoned(at.host)
	unchecked := at.err == nil
	if len(at.waiters) == 0 && at.queued {
		l.lines.remove(at)
		l.drop(at)
	}
	l.mu.Unlock()
	if unchecked {
		l.fails.record(at.host, "")
	}
}

// drop removes an attempt from pending and clears its password. Requires: l.mu is held.
func (l *Logins) drop(at *attempt) {
	if l.pending[at.clientKey] == at {
		delete(l.pending, at.clientKey)
	}
	clear(at.password)
}

// complete reports the result of a check against the accounts r to an attempt and its
// duplicates: the account a, or err if a is nil or revoked.
func (l *Logins) complete(at *attempt, r *accounts, a *Account, err error) {
	if a != nil && a.revoked() {
		a, err = nil, ErrWrongPass
	}
	if a != nil {
		err = nil
		a.rememberPassword(at.credentialKey)
	}
	l.mu.Lock()
	delete(l.checking, at.credentialKey) // no duplicate can be added from here on
	all := append(at.duplicates, at)
	if err == ErrWrongPass {
		evictOne(l.wrong, maxWrong)
		l.wrong[at.credentialKey] = r
	}
	l.mu.Unlock()
	for _, each := range all {
		l.finish(each, a, err)
	}
}

// finish answers an attempt, except if its password is wrong and its turn has not come.
func (l *Logins) finish(at *attempt, a *Account, err error) {
	l.mu.Lock()
	l.drop(at)
	if a != nil {
		l.rememberClient(at.clientKey, a)
		l.limiter.refund(at.host)
		if at.marked {
			l.limiter.unmark(at.pair)
		}
	}
	waiters := len(at.waiters)
	held := err == ErrWrongPass && at.early && !l.ended && waiters > 0 && l.lines.push(at)
	if held {
		at.err = err
	}
	l.mu.Unlock()
	if err != nil && err != errEnding {
		for range waiters {
			l.fails.record(at.host, l.current.Load().nameOf(at.name))
		}
	}
	if !held {
		l.answer(at, a, err)
	}
	l.serveDue(at.host)
}

// answer calls all waiters of an attempt.
func (l *Logins) answer(at *attempt, a *Account, err error) {
	l.mu.Lock()
	waiters := at.waiters
	at.waiters = nil
	l.mu.Unlock()
	for _, w := range waiters {
		w.done(a, err)
	}
}

// rememberClient caches a password as right for an address. Requires: l.mu is held.
func (l *Logins) rememberClient(clientKey mac, a *Account) {
	evictOne(l.verified, maxVerified)
	l.verified[clientKey] = a
}

// forget deletes cached passwords of revoked accounts, and all that were wrong.
func (l *Logins) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.wrong)
	maps.DeleteFunc(l.verified, func(_ mac, a *Account) bool { return a.revoked() })
}

// End answers all waiters. From now on only logins that need no hash are accepted.
func (l *Logins) End() {
	l.mu.Lock()
	l.ended = true
	queue := l.queue
	l.queue = nil
	hosts := slices.Collect(maps.Keys(l.lines))
	l.mu.Unlock()
	l.timers.end()
	for _, host := range hosts {
		l.serveDue(host)
	}
	for _, at := range queue {
		l.complete(at, l.current.Load(), nil, errEnding)
	}
}

// Known returns the account for a login that needs no check: the user has no password, or
// the same password was verified before from the same address. If it returns nil, call
// Login, which may block.
func (l *Logins) Known(from, name string, password []byte) *Account {
	return l.accountWithoutCheck(SiteOf(from), name, password)
}

// Login is Begin for callers that can wait. It blocks, at most until ctx ends. Its error
// is a *resp.Error for the client, or ctx.Err().
func (l *Logins) Login(ctx context.Context, from, name string, password []byte) (*Account, error) {
	type result struct {
		a   *Account
		err error
	}
	answer := make(chan result, 1)
	cancel := l.Begin(from, name, password, func(a *Account, err error) { answer <- result{a, err} })
	select {
	case r := <-answer:
		return r.a, r.err
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
}

// Failed returns the number of failed logins since the start, including those denied
// without a check. Cost: an atomic load.
func (l *Logins) Failed() int64 { return l.fails.total.Load() }
