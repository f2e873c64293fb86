// Package access authenticates the requests of listeners that have no session: of
// server/admin and server/rls.
package access

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
)

// loginTimeout bounds the time that a login waits for those before it.
const loginTimeout = 15 * time.Second

var (
	// ErrNoLogin answers a request without a name and a password where it needs them.
	ErrNoLogin = resp.NewError("NOAUTH", "log in first")
	// ErrBusy answers a login beyond the bounds of those under way.
	ErrBusy = errors.New("too many logins at once, try again")
)

// An Access authenticates the requests of a listener. Concurrency: any goroutine may use
// it.
type Access struct {
	// Pending limits the logins under way. Each login may wait.
	Pending  *SiteLimiter
	accounts *auth.Logins
}

// New returns the access of a listener that has at most so many logins under way at once,
// and so many of one site.
func New(accounts *auth.Logins, logins, perSite int) *Access {
	return &Access{NewSiteLimiter(logins, perSite), accounts}
}

// Needed reports whether clients must log in.
func (a *Access) Needed() bool { return a.accounts.Needed() }

// LogIn authenticates as client connections do, with the same delays and counts. from is
// HOST:PORT. It blocks for at most 15 s, or until ctx ends. Its error is ErrBusy, of ctx,
// or a *resp.Error for the client: see IsBusy.
func (a *Access) LogIn(ctx context.Context, from, name, password string) (*auth.Account, error) {
	if account := a.accounts.Known(from, name, []byte(password)); account != nil {
		return account, nil
	}
	site := auth.SiteOf(from)
	if !a.Pending.Acquire(site) {
		return nil, ErrBusy
	}
	defer a.Pending.Release(site)
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	return a.accounts.Login(ctx, from, name, []byte(password))
}

// Account authenticates a request by HTTP Basic, as LogIn does. Without a name and a password it
// returns the account of auth.DefaultUser, or ErrNoLogin.
func (a *Access) Account(ctx context.Context, from string, r *http.Request) (*auth.Account, error) {
	if name, password, ok := r.BasicAuth(); ok {
		return a.LogIn(ctx, from, name, password)
	}
	if a.accounts.Needed() {
		return nil, ErrNoLogin
	}
	return a.LogIn(ctx, from, auth.DefaultUser, "")
}

// IsBusy reports whether the error of a login says nothing about its name and password,
// so that a client should try again.
func IsBusy(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// IsOwnHost reports whether a Host header is an address or localhost, with a port or
// without.
//
// A listener without logins must require it of browsers: a web page could resolve a name of
// its own to this server, and send requests from the user's machine (DNS rebinding).
func IsOwnHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil
}
