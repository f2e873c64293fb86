package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
)

// Bounds of the logins under way.
const (
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

// An access authenticates requests and checks their rights. Concurrency: any goroutine
// may use it.
type access struct {
	accounts *auth.Logins
	logins   *logins
	// pendingLogins limits the logins under way.
	pendingLogins *siteLimiter
}

// newAccess returns the access to a listener at an address. secure: it uses TLS.
func newAccess(accounts *auth.Logins, at net.Addr, secure bool) access {
	return access{accounts, newLogins(at, secure), newSiteLimiter(maxPendingLogins, maxPendingLoginsPerSite)}
}

var (
	errNoLogin = resp.NewError("NOAUTH", "log in first")
	errBusy    = errors.New("too many logins at once, try again")
)

// identify returns the identity of a request: by cookie, by HTTP Basic, or
// auth.DefaultUser if no login is required. Its error may be shown to the client.
func (a *access) identify(r *http.Request) (identity, error) {
	if account, ok := a.logins.lookup(r, time.Now()); ok {
		return identity{account, r.RemoteAddr}, nil
	}
	if name, password, ok := r.BasicAuth(); ok {
		return a.logIn(r, name, password)
	}
	if a.accounts.Needed() {
		return identity{}, errNoLogin
	}
	return a.logIn(r, auth.DefaultUser, "")
}

// logIn authenticates as client connections do, with the same delays and counts.
func (a *access) logIn(r *http.Request, name, password string) (identity, error) {
	if account := a.accounts.Known(r.RemoteAddr, name, []byte(password)); account != nil {
		return identity{account, r.RemoteAddr}, nil
	}
	site := auth.SiteOf(r.RemoteAddr)
	if !a.pendingLogins.acquire(site) {
		return identity{}, errBusy
	}
	defer a.pendingLogins.release(site)
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	account, err := a.accounts.Login(ctx, r.RemoteAddr, name, []byte(password))
	return identity{account, r.RemoteAddr}, err
}

// requireGroup passes requests of users in a group to the handler, and replies with an
// error to others.
func (a *access) requireGroup(group string, answer func(http.ResponseWriter, *http.Request, identity)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := a.identify(r)
		switch {
		case err != nil:
			replyLoginError(w, r, err)
		case !id.account.May(group):
			replyError(w, http.StatusForbidden, "user "+strconv.Quote(id.account.Name())+" is not in the group "+group)
		default:
			answer(w, r, id)
		}
	})
}

// replyLoginError replies with the reason for a failed login. WWW-Authenticate makes a
// browser ask for a password, so calls of the page do not get it.
func replyLoginError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBusy) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		replyError(w, http.StatusServiceUnavailable, errBusy.Error())
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("WWW-Authenticate", `Basic realm="limitsrv", charset="UTF-8"`)
	}
	replyError(w, http.StatusUnauthorized, clientText(err))
}
