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

	"limitsrv/commands"
)

// Bounds of those who are logged in by a cookie.
const (
	loginLifetime = 12 * time.Hour
	maxLogins     = 1000
	// loginTimeout is how long a login may wait for those before it.
	loginTimeout = 15 * time.Second
	// maxLoggingIn is how many may be in a login at once, which may wait.
	maxPendingLogins = 112
	// maxLoggingInEach are those of one site. Wrong passwords wait for their turns, so it
	// is as many as leave some of the site's connections for others.
	maxPendingLoginsPerSite = maxConnectionsPerSite - 8
	// anyone is who asks where nobody has to log in.
	defaultUser = "default"
)

// A who is somebody who asks.
type identity struct {
	account commands.Account
	from    string // HOST:PORT
}

// logins are those who are logged in by a cookie, by the hash of its value. Many may
// use it at once.
type logins struct {
	cookie string // its name
	secure bool   // by TLS only
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]login
}

type login struct {
	account commands.Account
	expires time.Time
}

// newLogins is for a listener at an address: browsers tell hosts apart, and not ports.
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

// begin logs an account in and gives the cookie to answer with. Where there are too
// many, the one that would have ended soonest ends.
func (l *logins) create(a commands.Account, now time.Time) *http.Cookie {
	var secret [32]byte
	rand.Read(secret[:])
	value := base64.RawURLEncoding.EncodeToString(secret[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evict(now)
	l.byHash[sha256.Sum256([]byte(value))] = login{a, now.Add(loginLifetime)}
	return l.newCookie(value, int(loginLifetime/time.Second))
}

// forget drops what has ended, and the oldest where there is no room. mu is held.
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

// baked is the cookie with a value; an age of less than 0 takes it away.
func (l *logins) newCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: l.cookie, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: l.secure, SameSite: http.SameSiteStrictMode,
	}
}

// find is who the cookie of a request was given to.
func (l *logins) lookup(r *http.Request, now time.Time) (commands.Account, bool) {
	cookie, err := r.Cookie(l.cookie)
	if err != nil {
		return commands.Account{}, false
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

// end logs out who a request comes from, and gives the cookie that takes theirs away.
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
	errBusy    = errors.New("too many log in at once, try again")
)

// who finds out who asks: by cookie, by HTTP Basic, or anyone where nobody has to
// log in. Its error is for the client.
func (s *Server) identify(r *http.Request) (identity, error) {
	if a, ok := s.logins.lookup(r, time.Now()); ok {
		return identity{a, r.RemoteAddr}, nil
	}
	if name, password, ok := r.BasicAuth(); ok {
		return s.logIn(r, name, password)
	}
	if s.cfg.Handler.LoginNeeded() {
		return identity{}, errNoLogin
	}
	return s.logIn(r, defaultUser, "")
}

// logIn is a login as that of clients, slowed and counted as theirs.
func (s *Server) logIn(r *http.Request, name, password string) (identity, error) {
	if a, ok := s.cfg.Handler.Known(r.RemoteAddr, name, []byte(password)); ok {
		return identity{a, r.RemoteAddr}, nil
	}
	site := commands.SiteOf(r.RemoteAddr)
	if !s.pendingLogins.acquire(site) {
		return identity{}, errBusy
	}
	defer s.pendingLogins.release(site)
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	a, err := s.cfg.Handler.Login(ctx, r.RemoteAddr, name, []byte(password))
	return identity{a, r.RemoteAddr}, err
}

// allowed answers who is in a group.
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

// holds says whether the user of an account is still there.
func userExists(a commands.Account) bool { return a.May("decide") || a.May(peek) || a.May(admin) }

// refuse says why somebody is not answered. A browser asks for a password by itself
// where it is told how to log in, which is not for calls of the page.
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
