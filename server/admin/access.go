package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"limitsrv/commands/auth"
)

// Bounds of cookie logins.
const (
	loginLifetime = 12 * time.Hour
	maxLogins     = 1000
	// loginTimeout bounds the time that a login waits for those before it.
	loginTimeout = 15 * time.Second
	// maxPendingLogins bounds the logins under way at once, each of which may wait.
	maxPendingLogins = 112
	// maxPendingLoginsPerSite is the same for one site. Logins with wrong passwords wait,
	// so the bound leaves some of the site's connections free.
	maxPendingLoginsPerSite = maxConnectionsPerSite - 8
)

// An identity is the user and the address that a request comes from.
type identity struct {
	account *auth.Account
	from    string // HOST:PORT
}

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

var (
	errNoLogin = errors.New("log in first")
	errBusy    = errors.New("too many logins at once, try again")
)

// identify returns the identity of a request: by cookie, by HTTP Basic, or
// auth.DefaultUser if no login is required. Its error may be shown to the client.
func (s *Server) identify(r *http.Request) (identity, error) {
	if a, ok := s.logins.lookup(r, time.Now()); ok {
		return identity{a, r.RemoteAddr}, nil
	}
	if name, password, ok := r.BasicAuth(); ok {
		return s.logIn(r, name, password)
	}
	if s.cfg.Handler.Logins().Needed() {
		return identity{}, errNoLogin
	}
	return s.logIn(r, auth.DefaultUser, "")
}

// logIn authenticates as client connections do, with the same delays and counts.
func (s *Server) logIn(r *http.Request, name, password string) (identity, error) {
	if a := s.cfg.Handler.Logins().Known(r.RemoteAddr, name, []byte(password)); a != nil {
		return identity{a, r.RemoteAddr}, nil
	}
	site := auth.SiteOf(r.RemoteAddr)
	if !s.pendingLogins.acquire(site) {
		return identity{}, errBusy
	}
	defer s.pendingLogins.release(site)
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	a, err := s.cfg.Handler.Logins().Login(ctx, r.RemoteAddr, name, []byte(password))
	return identity{a, r.RemoteAddr}, err
}

// requireGroup passes requests of users in a group to the handler, and replies with an
// error to others.
func (s *Server) requireGroup(group string, answer func(http.ResponseWriter, *http.Request, identity)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := s.identify(r)
		switch {
		case err != nil:
			s.replyLoginError(w, r, err)
		case !id.account.May(group):
			replyError(w, http.StatusForbidden, "user "+strconv.Quote(id.account.Name())+" is not in the group "+group)
		default:
			answer(w, r, id)
		}
	})
}

// userExists reports whether the account's user still exists.
func userExists(a *auth.Account) bool { return a.May("decide") || a.May(peek) || a.May(admin) }

// replyLoginError replies with the reason for a failed login. WWW-Authenticate makes a
// browser ask for a password, so calls of the page do not get it.
func (s *Server) replyLoginError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBusy) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		replyError(w, http.StatusServiceUnavailable, errBusy.Error())
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("WWW-Authenticate", `Basic realm="limitsrv", charset="UTF-8"`)
	}
	replyError(w, http.StatusUnauthorized, clientText(err))
}
