package admin

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/server/access"
)

// Bounds of the logins under way at once: of all, and of a site. Logins with wrong
// passwords wait, so the second leaves some of the site's connections free.
const (
	maxPendingLogins        = 112
	maxPendingLoginsPerSite = maxConnectionsPerSite - 8
)

// An identity is the user and the address that a request comes from.
type identity struct {
	account *auth.Account
	from    string // HOST:PORT
}

// An adminAccess authenticates requests and checks their rights. Concurrency: any
// goroutine may use it.
type adminAccess struct {
	*access.Access
	accounts *auth.Logins
	logins   *logins
}

// newAccess returns the access to a listener at an address. secure: it uses TLS.
func newAccess(accounts *auth.Logins, at net.Addr, secure bool) adminAccess {
	return adminAccess{access.New(accounts, maxPendingLogins, maxPendingLoginsPerSite), accounts, newLogins(at, secure)}
}

// identify returns the identity of a request: by cookie, by HTTP Basic, or
// auth.DefaultUser if no login is required. Its error may be shown to the client.
func (a *adminAccess) identify(r *http.Request) (identity, error) {
	if account, ok := a.logins.lookup(r, time.Now()); ok {
		return identity{account, r.RemoteAddr}, nil
	}
	account, err := a.Account(r.Context(), r.RemoteAddr, r)
	return identity{account, r.RemoteAddr}, err
}

// requireGroup passes requests of users in a group to the handler, and replies with an
// error to other requests.
func (a *adminAccess) requireGroup(group string,
	answer func(http.ResponseWriter, *http.Request, identity)) http.Handler {
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
	if access.IsBusy(err) {
		replyError(w, http.StatusServiceUnavailable, access.ErrBusy.Error())
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("WWW-Authenticate", `Basic realm="limitsrv", charset="UTF-8"`)
	}
	replyError(w, http.StatusUnauthorized, clientText(err))
}
