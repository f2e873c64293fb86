package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"time"

	"limitsrv/commands/auth"
)

// Groups of commands that a request may require.
const (
	peek  = "peek"
	admin = "admin"
)

// Bounds of cookie logins.
const (
	loginLifetime = 12 * time.Hour
	maxLogins     = 1000
)

// logins are the users logged in by a cookie, by the hash of its value. Concurrency: any
// goroutine may use them.
type logins struct {
	cookie string // name of the cookie
	secure bool   // TLS only
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]login
}

type login struct {
	account *auth.Account
	expires time.Time
}

// newLogins names the cookie after the port of at, because browsers separate cookies by
// host and not by port.
func newLogins(at net.Addr, secure bool) *logins {
	name := "limitsrv"
	if _, port, err := net.SplitHostPort(at.String()); err == nil {
		name += "-" + port
	}
	if secure {
		name = "__Host-" + name
	}
	return &logins{cookie: name, secure: secure, byHash: make(map[[sha256.Size]byte]login)}
}

// create logs an account in and returns the cookie for the reply. Beyond maxLogins the
// login that expires first is removed.
func (l *logins) create(a *auth.Account, now time.Time) *http.Cookie {
	var secret [32]byte
	rand.Read(secret[:])
	value := base64.RawURLEncoding.EncodeToString(secret[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evict(now)
	l.byHash[sha256.Sum256([]byte(value))] = login{a, now.Add(loginLifetime)}
	return l.newCookie(value, int(loginLifetime/time.Second))
}

// evict removes the expired logins, and the oldest beyond maxLogins. Requires: mu is
// held.
func (l *logins) evict(now time.Time) {
	var oldest [sha256.Size]byte
	var ends time.Time
	for id, one := range l.byHash {
		switch {
		case !one.expires.After(now):
			delete(l.byHash, id)
		case ends.IsZero() || one.expires.Before(ends):
			oldest, ends = id, one.expires
		}
	}
	if len(l.byHash) >= maxLogins {
		delete(l.byHash, oldest)
	}
}

// newCookie returns the cookie with a value; an age below 0 deletes it in the browser.
func (l *logins) newCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: l.cookie, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: l.secure, SameSite: http.SameSiteStrictMode,
	}
}

// lookup returns the account of a request's cookie.
func (l *logins) lookup(r *http.Request, now time.Time) (*auth.Account, bool) {
	cookie, err := r.Cookie(l.cookie)
	if err != nil {
		return nil, false
	}
	id := sha256.Sum256([]byte(cookie.Value))
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.byHash[id]
	if ok && (!one.expires.After(now) || !userExists(one.account)) {
		delete(l.byHash, id)
		ok = false
	}
	return one.account, ok
}

// remove ends the login of a request's cookie, and returns the cookie that deletes it.
func (l *logins) remove(r *http.Request) *http.Cookie {
	if cookie, err := r.Cookie(l.cookie); err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.byHash, sha256.Sum256([]byte(cookie.Value)))
	}
	return l.newCookie("", -1)
}

// userExists reports whether the account's user still exists.
func userExists(a *auth.Account) bool { return a.May("decide") || a.May(peek) || a.May(admin) }
