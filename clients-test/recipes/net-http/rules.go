package main

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

// Rules limits requests by the rules of limitsrv.
type Rules struct {
	Redis   *redis.Client // with ContextTimeoutEnabled
	Timeout time.Duration // of requests to limitsrv
	Open    bool          // whether requests are allowed while limitsrv is unavailable
	Domain  string        // of the rules
}

// Of returns a handler that asks before next.
func (l Rules) Of(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), l.Timeout)
		defer cancel()
		d, err := l.Redis.Do(ctx, append(append([]any{"RL.CHECK", l.Domain}, attributes(r)...), "HEADERS")...).Slice()
		if err != nil && l.Open {
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the rate limiter does not answer"})
			return
		}
		allowed, waitMillis, reason, headers := d[0] == int64(1), d[3], d[6], d[7].([]any)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i].(string), headers[i+1].(string))
		}
		if allowed {
			next.ServeHTTP(w, r)
			return
		}
		answer(w, http.StatusTooManyRequests, map[string]any{"error": "too many requests", "reason": reason, "retry_after_ms": waitMillis})
	})
}

// attributes returns the attributes of a request: the path, the method, the address, and the
// API key, if any (validate it first!).
func attributes(r *http.Request) []any {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	all := []any{"path", r.URL.Path, "method", r.Method, "ip", host}
	if apiKey := r.Header.Get("X-API-Key"); apiKey != "" {
		all = append(all, "api_key", apiKey)
	}
	return all
}
