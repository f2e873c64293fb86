package admin

import (
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"strings"

	"limitsrv/server/access"
)

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", livez(a.cfg.Handler))
	mux.HandleFunc("GET /readyz", ready(a.cfg.Handler))
	mux.Handle("GET /metrics", a.requireGroup(peek, a.scrape))
	mux.HandleFunc("GET /api/session", a.session)
	mux.HandleFunc("POST /api/login", a.login)
	mux.HandleFunc("POST /api/logout", a.logout)
	mux.Handle("GET /api/now", a.requireGroup(peek, a.now))
	mux.Handle("GET /api/history", a.requireGroup(peek, a.history.serve))
	mux.Handle("GET /api/top", a.requireGroup(peek, a.top))
	mux.Handle("GET /api/keys", a.requireGroup(peek, a.search))
	mux.Handle("GET /api/key", a.requireGroup(peek, a.key))
	mux.Handle("GET /api/rules", a.requireGroup(peek, a.rules))
	mux.Handle("GET /api/match", a.requireGroup(peek, a.match))
	mux.Handle("POST /api/reset", a.requireGroup(admin, a.reset))
	mux.Handle("POST /api/block", a.requireGroup(admin, a.block))
	mux.Handle("POST /api/rules/reset", a.requireGroup(admin, a.resetRules))
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, r *http.Request) {
		replyError(w, http.StatusNotFound, "no such API call")
	})
	if a.cfg.Pprof {
		a.handleProfiles(mux)
	}
	if a.cfg.Page != nil {
		mux.Handle("GET /", a.cfg.Page)
	}
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		replyError(w, http.StatusForbidden, "the request comes from a page of another origin")
	}))
	return trackRequests(a.recoverPanics(withSecurityHeaders(a.requireOwnHost(origin.Handler(mux)))))
}

// handleProfiles adds the profiles of net/http/pprof, except the command line, which may
// contain the password.
func (a *api) handleProfiles(mux *http.ServeMux) {
	mux.Handle("GET /debug/pprof/",
		a.requireGroup(admin, func(w http.ResponseWriter, r *http.Request, _ identity) { pprof.Index(w, r) }))
	mux.Handle("GET /debug/pprof/profile",
		a.requireGroup(admin, func(w http.ResponseWriter, r *http.Request, _ identity) { pprof.Profile(w, r) }))
	mux.Handle("GET /debug/pprof/trace",
		a.requireGroup(admin, func(w http.ResponseWriter, r *http.Request, _ identity) { pprof.Trace(w, r) }))
}

// contentSecurityPolicy allows resources of this server only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " +
	"'self' data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// maxBodyBytes bounds the body of a request.
const maxBodyBytes = 8 << 10

// withSecurityHeaders bounds the body and sets the security headers of replies.
func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.URL.Path != "/" && !strings.Contains(r.URL.Path, ".") { // the path is empty in some requests
			h.Set("Cache-Control", "no-store")
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		next.ServeHTTP(w, r)
	})
}

// requireOwnHost rejects, if no login is required, a Host that is neither an address nor
// localhost: a web page could resolve a name of its own to this server and send requests
// from the user's machine (DNS rebinding). TLS prevents that, because a certificate is
// for names. Probes are exempt because their replies hold nothing secret.
func (a *api) requireOwnHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.cfg.TLS == nil && !a.accounts.Needed() && !access.IsOwnHost(r.Host) && r.URL.Path != "/livez" &&
			r.URL.Path != "/readyz" {
			replyError(w, http.StatusForbidden, "no login is required here, so the host must be an address or localhost")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// recoverPanics makes a panic end one request only.
func (a *api) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				a.log.Error("admin request panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				replyError(w, http.StatusInternalServerError, "internal error")
			}
		}()
		next.ServeHTTP(w, r)
	})
}
