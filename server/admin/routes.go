package admin

import (
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"strings"
)

// Groups of commands that a request may require.
const (
	peek  = "peek"
	admin = "admin"
)

// handler returns the handler of all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.live)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.requireGroup(peek, s.scrape))
	mux.HandleFunc("GET /api/session", s.session)
	mux.HandleFunc("POST /api/login", s.login)
	mux.HandleFunc("POST /api/logout", s.logout)
	mux.Handle("GET /api/now", s.requireGroup(peek, s.now))
	mux.Handle("GET /api/history", s.requireGroup(peek, s.getHistory))
	mux.Handle("GET /api/top", s.requireGroup(peek, s.top))
	mux.Handle("GET /api/keys", s.requireGroup(peek, s.search))
	mux.Handle("GET /api/key", s.requireGroup(peek, s.key))
	mux.Handle("POST /api/reset", s.requireGroup(admin, s.reset))
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, r *http.Request) {
		replyError(w, http.StatusNotFound, "no such API call")
	})
	if s.cfg.Pprof {
		s.handleProfiles(mux)
	}
	if s.cfg.Page != nil {
		mux.Handle("GET /", s.cfg.Page)
	}
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		replyError(w, http.StatusForbidden, "the request comes from a page of another origin")
	}))
	return trackRequests(s.recoverPanics(withSecurityHeaders(s.requireOwnHost(origin.Handler(mux)))))
}

// handleProfiles adds the profiles of net/http/pprof, except the command line, which may
// contain the password.
func (s *Server) handleProfiles(mux *http.ServeMux) {
	mux.Handle("GET /debug/pprof/", s.requireGroup(admin, func(w http.ResponseWriter, r *http.Request, _ identity) { pprof.Index(w, r) }))
	mux.Handle("GET /debug/pprof/profile", s.requireGroup(admin, func(w http.ResponseWriter, r *http.Request, _ identity) { pprof.Profile(w, r) }))
	mux.Handle("GET /debug/pprof/trace", s.requireGroup(admin, func(w http.ResponseWriter, r *http.Request, _ identity) { pprof.Trace(w, r) }))
}

// contentSecurityPolicy allows resources of this server only.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

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
func (s *Server) requireOwnHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.TLS == nil && !s.cfg.Handler.Logins().Needed() && !isOwnHost(r.Host) && r.URL.Path != "/livez" && r.URL.Path != "/readyz" {
			replyError(w, http.StatusForbidden, "no login is required here, so the host must be an address or localhost")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnHost reports whether a Host header is an address or localhost, with a port or
// without.
func isOwnHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil
}

// recoverPanics makes a panic end one request only.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("admin request panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				replyError(w, http.StatusInternalServerError, "internal error")
			}
		}()
		next.ServeHTTP(w, r)
	})
}
