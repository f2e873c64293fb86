package commands

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"limitsrv/commands/users"
)

// Bounds of logins.
const (
	// maxHashWorkers check passwords by their hashes at once, but never as many as half
	// the processors, if that is one or more. With each go up to 256 MB.
	maxHashWorkers = 2
	// maxHashQueue attempts wait for a worker.
	maxHashQueue = 512
	// maxPending attempts are not checked yet: each keeps its name and password.
	maxPending = 4096
	// maxVerified are how many passwords are known to be right from an address.
	maxVerified = 16_384
	// maxWrong are how many are known to be wrong.
	maxWrong = 4096
	// refusalDelay is how long an attempt waits that is refused unchecked, or whose
	// password is known to be wrong.
	refusalDelay = time.Second
)

var (
	errTooManyLogins = &Error{"ERR", "too many logins that failed, from your address or all: try again in some seconds"}
	errEnding        = &Error{"ERR", "the server is shutting down"}
)

// A mac is a digest of an attempt under a key that nobody else knows, so that
// comparing it tells nothing about a password.
type mac [sha256.Size]byte

// logins check names and passwords, where hashes are slow. What they promise:
//
//   - A name and a password that were right before from the same address are let in at
//     once, whatever others do.
//   - Any other attempt takes a permit of its address, which a right password gives
//     back. Some permits are kept for attempts that have just come, and some of these
//     for names that nobody failed with from there, so that a right password is let in
//     at once while others wait in line: see loginLine.
//   - A wrong password is answered in its turn also where it was checked before that.
//   - A password that is known to be wrong takes no permit.
//   - Attempts with the same name and password are checked once, so that many clients
//     that come back at once cost one hash.
//   - A name that is nobody's is checked like one that is somebody's.
//   - No more than maxHashWorkers hashes are worked out at once, and never on the
//     goroutine that asks.
type logins struct {
	accounts  func() *accounts
	key       [sha256.Size]byte
	limiter   *loginLimiter
	fails     *failures
	checkHash func(*users.User, []byte) bool // (*users.User).Check, but in tests
	spawn     func(func())                   // go, but in tests
	after     func(time.Duration, func())    // time.AfterFunc, but in tests

	mu        sync.Mutex
	ended     bool
	verified  map[mac]*account      // by address, name and password
	wrong     map[mac]*accounts     // by name and password: as of which accounts
	pending   map[mac]*attempt      // not checked yet, by address, name and password
	checking  map[mac]*attempt      // under way to a check, by name and password
	lines     map[string]*loginLine // by address
	queue     []*attempt            // that wait for a worker
	working   int
	scheduled map[*scheduledCall]struct{}
}

// A scheduledCall is what comes later, or when the server ends.
type scheduledCall struct{ then func() }

// An attempt is a name and a password from an address, for all who sent them from
// there.
type attempt struct {
	host, name string
	password   []byte
	// here is of all three, anywhere of name and password, and pair of host and name.
	here, anywhere, pair mac

	waiters    []*waiter
	duplicates []*attempt // with the same name and password, which its check is for as well
	early      bool       // it is checked before its turn
	marked     bool       // it has marked its pair
	queued     bool       // it is in the line of its address
	err        error      // the answer that it gets in its turn; nil: it is not checked yet
}

// A waiter is one who waits for an attempt.
type waiter struct{ done func(*account, error) }

func newLogins(current func() *accounts, fails *failures) *logins {
	l := &logins{
		accounts: current, fails: fails, limiter: newLoginLimiter(),
		verified: map[mac]*account{}, wrong: map[mac]*accounts{}, pending: map[mac]*attempt{}, checking: map[mac]*attempt{},
		lines:     map[string]*loginLine{},
		checkHash: (*users.User).Check,
		spawn:     func(f func()) { go f() },
		after:     func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		scheduled: map[*scheduledCall]struct{}{},
	}
	_, _ = rand.Read(l.key[:]) // it never fails
	return l
}

// login calls done once with the account, or with why there is none, perhaps before
// it returns. It keeps nothing of password. from is HOST:PORT, HOST or the path of a
// unix socket. A caller that does not wait any more calls cancel; done may not be called
// then.
func (l *logins) login(from, name string, password []byte, done func(*account, error)) (cancel func()) {
	host := SiteOf(from)
	if a := l.accountWithoutCheck(host, name, password); a != nil {
		done(a, nil)
		return func() {}
	}
	w := &waiter{done}
	at, admitted, err := l.attempt(host, name, password, w)
	switch {
	case err == errWrongPass:
		l.fails.record(host, l.accounts().nameOf(name))
		l.schedule(refusalDelay, func() { done(nil, err) })
		return func() {}
	case err != nil:
		l.fails.record(host, "")
		l.schedule(refusalDelay, func() { done(nil, err) })
		return func() {}
	case admitted:
		l.start(at)
	default:
		l.serveDue(host)
	}
	return func() { l.cancel(at, w) }
}

// known is the account that an attempt is let in to at once; nil: it takes a check.
func (l *logins) accountWithoutCheck(host, name string, password []byte) *account {
	here := l.mac(host, name, password)
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.verified[here]; a != nil && !a.revoked() {
		return a
	}
	return l.accounts().passwordless(name)
}

// mac is of a host, unless it is empty, a name and a password.
func (l *logins) mac(host, name string, password []byte) (sum mac) {
	h := hmac.New(sha256.New, l.key[:])
	fmt.Fprintf(h, "%d:%s%d:%s", len(host), host, len(name), name)
	h.Write(password)
	h.Sum(sum[:0])
	return sum
}

// attempt is the one that somebody now waits for, and whether it is to be checked now.
// Its error is for an attempt that is not made.
func (l *logins) attempt(host, name string, password []byte, w *waiter) (at *attempt, admitted bool, err error) {
	here, anywhere, pair := l.mac(host, name, password), l.mac("", name, password), l.pair(host, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	at = l.pending[here]
	switch {
	case at != nil:
		at.waiters = append(at.waiters, w)
		return at, at.queued && l.admit(at), nil
	case l.wrong[anywhere] == l.accounts():
		return nil, false, errWrongPass
	case len(l.pending) >= maxPending:
		return nil, false, errTooManyLogins
	}
	at = &attempt{host: host, name: name, here: here, anywhere: anywhere, pair: pair, waiters: []*waiter{w}}
	if admitted = l.admit(at); !admitted && !l.push(at) {
		return nil, false, errTooManyLogins
	}
	at.password = append(at.password, password...)
	l.pending[here] = at
	return at, admitted, nil
}

// cancel removes a waiter that has hung up. An attempt that nobody waits for is not checked.
func (l *logins) cancel(at *attempt, w *waiter) {
	l.mu.Lock()
	i := slices.Index(at.waiters, w)
	if i < 0 { // it has been answered
		l.mu.Unlock()
		return
	}
	at.waiters = slices.Delete(at.waiters, i, i+1)
	l.limiter.recordAbandoned(at.host)
	unchecked := at.err == nil
	if len(at.waiters) == 0 && at.queued {
		l.remove(at)
		l.drop(at)
	}
	l.mu.Unlock()
	if unchecked {
		l.fails.record(at.host, "")
	}
}

// drop forgets the password of an attempt, and that it is pending. mu is held.
func (l *logins) drop(at *attempt) {
	if l.pending[at.here] == at {
		delete(l.pending, at.here)
	}
	clear(at.password)
}

// settle tells an attempt and its duplicates the result of a check by accounts: the account,
// or err if that is nil or gone.
func (l *logins) complete(at *attempt, r *accounts, a *account, err error) {
	if a != nil && a.revoked() {
		a, err = nil, errWrongPass
	}
	if a != nil {
		err = nil
		a.rememberPassword(at.anywhere)
	}
	l.mu.Lock()
	delete(l.checking, at.anywhere) // no twin joins any more
	all := append(at.duplicates, at)
	if err == errWrongPass {
		evictOne(l.wrong, maxWrong)
		l.wrong[at.anywhere] = r
	}
	l.mu.Unlock()
	for _, each := range all {
		l.finish(each, a, err)
	}
}

// finish answers an attempt, unless its password is wrong and its turn is yet to come.
func (l *logins) finish(at *attempt, a *account, err error) {
	l.mu.Lock()
	l.drop(at)
	if a != nil {
		l.rememberClient(at.here, a)
		l.limiter.refund(at.host)
		if at.marked {
			l.limiter.unmark(at.pair)
		}
	}
	waiters := len(at.waiters)
	held := err == errWrongPass && at.early && !l.ended && waiters > 0 && l.push(at)
	if held {
		at.err = err
	}
	l.mu.Unlock()
	if err != nil && err != errEnding {
		for range waiters {
			l.fails.record(at.host, l.accounts().nameOf(at.name))
		}
	}
	if !held {
		l.answer(at, a, err)
	}
	l.serveDue(at.host)
}

// answer tells all who wait for an attempt.
func (l *logins) answer(at *attempt, a *account, err error) {
	l.mu.Lock()
	waiters := at.waiters
	at.waiters = nil
	l.mu.Unlock()
	for _, w := range waiters {
		w.done(a, err)
	}
}

// rememberClient notes that a password is right from an address. mu is held.
func (l *logins) rememberClient(here mac, a *account) {
	evictOne(l.verified, maxVerified)
	l.verified[here] = a
}

// evictOne drops any one entry of a map that has most: its password is checked again
// then.
func evictOne[V any](m map[mac]V, most int) {
	if len(m) < most {
		return
	}
	for some := range m {
		delete(m, some)
		return
	}
}

// forget forgets accounts that are gone, and passwords that were wrong before.
func (l *logins) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.wrong)
	maps.DeleteFunc(l.verified, func(_ mac, a *account) bool { return a.revoked() })
}

// later calls then after a time, or when the server ends.
func (l *logins) schedule(d time.Duration, then func()) {
	w := &scheduledCall{then}
	l.mu.Lock()
	ended := l.ended
	l.scheduled[w] = struct{}{}
	l.mu.Unlock()
	if ended {
		d = 0
	}
	l.after(d, func() {
		l.mu.Lock()
		_, waits := l.scheduled[w]
		delete(l.scheduled, w)
		l.mu.Unlock()
		if waits {
			then()
		}
	})
}

// end answers all who wait, and from now on lets in only who needs no hash.
func (l *logins) end() {
	l.mu.Lock()
	l.ended = true
	waits, queue := l.scheduled, l.queue
	l.scheduled, l.queue = map[*scheduledCall]struct{}{}, nil
	hosts := slices.Collect(maps.Keys(l.lines))
	l.mu.Unlock()
	for w := range waits {
		w.then()
	}
	for _, host := range hosts {
		l.serveDue(host)
	}
	for _, at := range queue {
		l.complete(at, l.accounts(), nil, errEnding)
	}
}

// LoginNeeded says whether a connection has to log in.
func (h *Handler) LoginNeeded() bool { return h.accounts.Load().initial == nil }

// Known is Login for who is let in at once: who needs no password, or has logged in
// with it from the same address before. Not ok: it takes Login, which may wait.
func (h *Handler) Known(from, name string, password []byte) (a Account, ok bool) {
	found := h.logins.accountWithoutCheck(SiteOf(from), name, password)
	return Account{found}, found != nil
}

// Login is AUTH for what is no session: from is the address that the attempt comes
// from, as HOST:PORT or HOST, and by it attempts are slowed. It waits, at most until
// ctx ends. Its error is an *Error for the client, or that of ctx.
func (h *Handler) Login(ctx context.Context, from, name string, password []byte) (Account, error) {
	type result struct {
		a   *account
		err error
	}
	answer := make(chan result, 1)
	cancel := h.logins.login(from, name, password, func(a *account, err error) { answer <- result{a, err} })
	select {
	case r := <-answer:
		return Account{r.a}, r.err
	case <-ctx.Done():
		cancel()
		return Account{}, ctx.Err()
	}
}
