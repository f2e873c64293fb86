package admin

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"limitsrv/commands/resp"
)

// An api answers requests about the state. Each call is a method. Concurrency: any
// goroutine may use it.
type api struct {
	adminAccess
	cfg       Config
	log       *slog.Logger
	searching chan struct{} // semaphore of the searches
	history   *history
	ruleHours *ruleHours
	metrics   http.Handler
}

// newAPI returns the api of a listener at an address.
func newAPI(cfg Config, at net.Addr) api {
	return api{
		adminAccess: newAccess(cfg.Handler.Logins(), at, cfg.TLS != nil), cfg: cfg, log: cfg.Logger,
		searching: make(chan struct{}, maxSearches), history: newHistory(newSampler(cfg)), ruleHours: newRuleHours(),
		metrics: newMetrics(cfg),
	}
}

// session serves GET /api/session: the user of the page and their rights. No login is
// required.
func (a *api) session(w http.ResponseWriter, r *http.Request) {
	type may struct {
		Peek  bool `json:"peek"`
		Admin bool `json:"admin"`
	}
	var out struct {
		LoginNeeded bool   `json:"login_needed"`
		User        string `json:"user"`
		May         may    `json:"may"`
		Version     string `json:"version"`
	}
	out.LoginNeeded, out.Version = a.accounts.Needed(), a.cfg.Handler.Version()
	if id, err := a.identify(r); err == nil {
		out.May = may{id.account.May(peek), id.account.May(admin)}
		if out.LoginNeeded {
			out.User = id.account.Name()
		}
	}
	reply(w, out)
}

// login serves POST /api/login: it sets a cookie.
func (a *api) login(w http.ResponseWriter, r *http.Request) {
	var given struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	if !decodeBody(w, r, &given) {
		return
	}
	account, err := a.LogIn(r.Context(), r.RemoteAddr, given.User, given.Password)
	if err != nil {
		replyLoginError(w, r, err)
		return
	}
	http.SetCookie(w, a.logins.create(account, time.Now()))
	w.WriteHeader(http.StatusNoContent)
}

// logout serves POST /api/logout for any client.
func (a *api) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, a.logins.remove(r))
	w.WriteHeader(http.StatusNoContent)
}

// scrape serves GET /metrics. If it includes names of keys, it requires the right to list
// keys.
func (a *api) scrape(w http.ResponseWriter, r *http.Request, id identity) {
	if a.cfg.KeyMetrics {
		if err := a.mayListKeys(id); err != nil {
			a.replyCommandError(w, err)
			return
		}
	}
	a.metrics.ServeHTTP(w, r)
}

// mayListKeys returns an error unless the user may list keys without naming them.
func (a *api) mayListKeys(id identity) error { return a.cfg.Handler.May(id.account, "RL.TOP") }

// statusByCode has the HTTP status of error codes; other codes are 503.
var statusByCode = map[string]int{
	"NOPERM": http.StatusForbidden, "NOAUTH": http.StatusUnauthorized, "WRONGPASS": http.StatusUnauthorized,
	"WRONGTYPE": http.StatusConflict,
	"LOADING":   http.StatusServiceUnavailable, "CLUSTERDOWN": http.StatusServiceUnavailable,
	"OOM": http.StatusServiceUnavailable,
	"ERR": http.StatusBadRequest,
}

// replyCommandError writes the error of a command.
func (a *api) replyCommandError(w http.ResponseWriter, err error) {
	var clientErr *resp.Error
	if !errors.As(err, &clientErr) {
		a.log.Error("admin request failed", "error", err)
		replyError(w, http.StatusServiceUnavailable, clientText(err))
		return
	}
	status, ok := statusByCode[clientErr.Code]
	if !ok {
		status = http.StatusServiceUnavailable
	}
	replyError(w, status, clientText(err))
}
