package rls

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"limitsrv/server/access"
)

// Bounds of the time of HTTP requests.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second // including the decision and a login
)

func newHTTP(s *core) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/check", s.ownPages(s.check))
	mux.Handle("POST /v1/commit", s.ownPages(s.settle(readCommit)))
	mux.Handle("POST /v1/extend", s.ownPages(s.settle(readExtend)))
	mux.Handle("POST /v1/cancel", s.ownPages(s.settle(readCancel)))
	mux.Handle("POST /json", s.ownPages(s.json))
	mux.HandleFunc("/v1/forward/{domain}", s.forward)
	h := &http.Server{
		Handler:           s.recoverPanics(mux),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         new(http.Protocols),
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // handshake errors of unauthenticated clients
	}
	h.Protocols.SetHTTP1(true)
	return h
}

// ownPages rejects requests that a page of another origin sends, and, where neither a login
// nor TLS is required, those for a host that is a name.
func (s *core) ownPages(next http.HandlerFunc) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		replyText(w, http.StatusForbidden, "the request comes from a page of another origin")
	}))
	return origin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil && !s.access.Needed() && !access.IsOwnHost(r.Host) {
			replyText(w, http.StatusForbidden, "no login is required here, so the host must be an address or localhost")
			return
		}
		next(w, r)
	}))
}

// recoverPanics makes a panic end one request only.
func (s *core) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("request by rules panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				replyFailure(w, internalFailure)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
