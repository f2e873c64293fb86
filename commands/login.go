package commands

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"strings"
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
	// maxPending attempts are under way, those that wait for a permit among them: each
	// keeps its name and password, also when its connection is gone.
	maxPending = 4096
	// maxFamiliar are how many passwords are known to be right from an address.
	maxFamiliar = 16_384
	// refusalDelay is how long an attempt waits that is refused unchecked.
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
//   - Who logged in before with the same password from the same address is let in at
//     once, whatever others do.
//   - Any other attempt takes a permit of its address, which a right password gives
//     back. Without one it waits, checked or not, and the more so the more there are.
//   - Attempts with the same name and password are checked once, so that many clients
//     that come back at once cost one hash.
//   - A name that is nobody's is checked like one that is somebody's.
//   - No more than maxHashWorkers hashes are worked out at once, and never on the
//     goroutine that asks.
type logins struct {
	roster func() *roster
	key    [sha256.Size]byte
	pace   *pace
	fails  *failures
	hashed func(*users.User, []byte) bool // (*users.User).Check, but in tests
	spawn  func(func())                   // go, but in tests
	after  func(time.Duration, func())    // time.AfterFunc, but in tests

	mu       sync.Mutex
	ended    bool
	familiar map[mac]*account // by address, name and password
	pending  map[mac]*attempt // by name and password
	queue    []*attempt       // that wait for a worker
	working  int
	waits    map[*delayed]struct{}
}

// A delayed is what comes later, or when the server ends.
type delayed struct{ then func() }

// An attempt is a name and a password that are being checked, for all who sent them.
type attempt struct {
	host, name string
	password   []byte
	mac        mac
	waiters    []waiter
}

// A waiter is one who waits for an attempt.
type waiter struct {
	host string
	done func(*account, error)
}

func newLogins(roster func() *roster, fails *failures) *logins {
	l := &logins{
		roster: roster, fails: fails, pace: newPace(), familiar: map[mac]*account{}, pending: map[mac]*attempt{},
		hashed: (*users.User).Check,
		spawn:  func(f func()) { go f() },
		after:  func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		waits:  map[*delayed]struct{}{},
	}
	_, _ = rand.Read(l.key[:]) // it never fails
	return l
}

// login calls done once with the account, or with why there is none, perhaps before
// it returns. It keeps nothing of password. from is HOST:PORT, HOST or the path of a
// unix socket.
func (l *logins) login(from, name string, password []byte, done func(*account, error)) {
	host := SiteOf(from)
	if a := l.known(host, name, password); a != nil {
		done(a, nil)
		return
	}
	anywhere := l.mac("", name, password)
	l.mu.Lock()
	if p := l.pending[anywhere]; p != nil {
		p.waiters = append(p.waiters, waiter{host, done})
		l.mu.Unlock()
		return
	}
	at := &attempt{host: host, name: name, mac: anywhere, waiters: []waiter{{host, done}}}
	wait, ok := l.pace.take(host)
	if !ok || len(l.pending) >= maxPending {
		l.mu.Unlock()
		l.fails.note(host, "")
		l.later(refusalDelay, func() { done(nil, errTooManyLogins) })
		return
	}
	at.password = append(at.password, password...)
	l.pending[anywhere] = at
	l.mu.Unlock()
	if wait > 0 {
		l.later(wait, func() { l.check(at) })
		return
	}
	l.check(at)
}

// known is the account of who is let in at once; nil: it takes a check.
func (l *logins) known(host, name string, password []byte) *account {
	here := l.mac(host, name, password)
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.familiar[here]; a != nil && !a.gone() {
		return a
	}
	return l.roster().unasked(name)
}

// mac is of a host, unless it is empty, a name and a password.
func (l *logins) mac(host, name string, password []byte) (sum mac) {
	h := hmac.New(sha256.New, l.key[:])
	fmt.Fprintf(h, "%d:%s%d:%s", len(host), host, len(name), name)
	h.Write(password)
	h.Sum(sum[:0])
	return sum
}

// check checks an attempt at once where that needs no hash, and else queues it.
func (l *logins) check(at *attempt) {
	r := l.roster()
	a := r.accounts[at.name]
	switch {
	case a != nil && a.remembers(at.mac):
		l.settle(at, a, nil)
	case at.name == defaultUser && r.password != nil:
		given := sha256.Sum256(at.password)
		if subtle.ConstantTimeCompare(given[:], r.password[:]) == 0 {
			a = nil
		}
		l.settle(at, a, errWrongPass)
	case r.users == nil:
		l.settle(at, nil, errWrongPass)
	default:
		l.enqueue(at)
	}
}

func (l *logins) enqueue(at *attempt) {
	l.mu.Lock()
	switch {
	case l.ended:
		l.mu.Unlock()
		l.settle(at, nil, errEnding)
		return
	case len(l.queue) >= maxHashQueue:
		l.mu.Unlock()
		l.later(refusalDelay, func() { l.settle(at, nil, errTooManyLogins) })
		return
	}
	l.queue = append(l.queue, at)
	start := l.working < max(1, min(maxHashWorkers, runtime.NumCPU()/2-1))
	if start {
		l.working++
	}
	l.mu.Unlock()
	if start {
		l.spawn(l.work)
	}
}

// work checks what is queued until nothing is.
func (l *logins) work() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.working--
			l.queue = nil
			l.mu.Unlock()
			return
		}
		at := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.verify(at)
	}
}

// verify checks a password by the hashes of its user, or where the name is nobody's
// by those of another user, always the same one for a name.
func (l *logins) verify(at *attempt) {
	r := l.roster()
	a := r.accounts[at.name]
	if a != nil && a.user == nil { // the default user, since when it was queued
		l.check(at)
		return
	}
	u := r.decoy(l.mac("", at.name, nil))
	if a != nil {
		u = a.user
	}
	if right := l.hashed(u, at.password); !right {
		a = nil
	}
	l.settle(at, a, errWrongPass)
}

// settle answers all who sent an attempt: with the account, or with err if that is
// nil or gone.
func (l *logins) settle(at *attempt, a *account, err error) {
	if a != nil && a.gone() {
		a, err = nil, errWrongPass
	}
	l.mu.Lock()
	delete(l.pending, at.mac) // nobody joins any more
	l.mu.Unlock()
	if a != nil {
		err = nil
		a.remember(at.mac)
		l.pace.giveBack(at.host)
	}
	for _, w := range at.waiters {
		switch {
		case a != nil:
			l.meet(l.mac(w.host, at.name, at.password), a)
		case err != errEnding:
			l.fails.note(w.host, l.roster().nameOf(at.name))
		}
	}
	clear(at.password)
	for _, w := range at.waiters {
		w.done(a, err)
	}
}

// meet notes that a password is right from an address.
func (l *logins) meet(here mac, a *account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.familiar) >= maxFamiliar {
		for some := range l.familiar { // any of them: it is checked again then
			delete(l.familiar, some)
			break
		}
	}
	l.familiar[here] = a
}

// forget forgets accounts that are gone.
func (l *logins) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.familiar, func(_ mac, a *account) bool { return a.gone() })
}

// later has something done after a time, or when the server ends.
func (l *logins) later(d time.Duration, then func()) {
	w := &delayed{then}
	l.mu.Lock()
	ended := l.ended
	l.waits[w] = struct{}{}
	l.mu.Unlock()
	if ended {
		d = 0
	}
	l.after(d, func() {
		l.mu.Lock()
		_, waits := l.waits[w]
		delete(l.waits, w)
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
	waits, queue := l.waits, l.queue
	l.waits, l.queue = map[*delayed]struct{}{}, nil
	l.mu.Unlock()
	for w := range waits {
		w.then()
	}
	for _, at := range queue {
		l.settle(at, nil, errEnding)
	}
}

// SiteOf is the part of an address, as HOST:PORT or HOST, by which strangers are told
// apart: the host, or of IPv6 the 64 bits that a site has to itself.
func SiteOf(from string) string {
	if at, err := netip.ParseAddrPort(from); err == nil {
		from = at.Addr().String()
	}
	addr, err := netip.ParseAddr(from)
	if err != nil {
		host, _, _ := strings.Cut(from, ":")
		return host
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() && !addr.IsLoopback() {
		if site, err := addr.Prefix(64); err == nil {
			return site.String()
		}
	}
	return addr.String()
}

// LoginNeeded says whether a connection has to log in.
func (h *Handler) LoginNeeded() bool { return h.roster.Load().initial == nil }

// Known is Login for who is let in at once: who needs no password, or has logged in
// with it from the same address before. Not ok: it takes Login, which may wait.
func (h *Handler) Known(from, name string, password []byte) (a Account, ok bool) {
	found := h.logins.known(SiteOf(from), name, password)
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
	h.logins.login(from, name, password, func(a *account, err error) { answer <- result{a, err} })
	select {
	case r := <-answer:
		return Account{r.a}, r.err
	case <-ctx.Done():
		return Account{}, ctx.Err()
	}
}
