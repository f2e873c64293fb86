package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limit asks limitsrv before a request is let through.
type Limit struct {
	Redis    *redis.Client // with ContextTimeoutEnabled
	Timeout  time.Duration // for limitsrv to answer
	Open     bool          // whether requests pass while it does not
	Capacity int           // permits for each key, as RL.TOKEN takes them
	Rate     string        // how they come back: "5", "100/1m"
}

// Of is a handler behind the limit.
func (l Limit) Of(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), l.Timeout)
		defer cancel()
		d, err := l.Redis.Do(ctx, "RL.TOKEN", key(r), l.Capacity, l.Rate).Int64Slice()
		if err != nil && l.Open {
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the rate limiter does not answer"})
			return
		}
		allowed, limit, remaining, waitMillis, resetMillis := d[0] == 1, d[1], d[2], d[3], d[4]
		w.Header().Set("X-RateLimit-Limit", strconv.FormatInt(limit, 10))
		w.Header().Set("X-RateLimit-Remaining", strconv.FormatInt(remaining, 10))
		w.Header().Set("X-RateLimit-Reset", seconds(resetMillis))
		if allowed {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", seconds(waitMillis))
		answer(w, http.StatusTooManyRequests, map[string]any{"error": "too many requests", "retry_after_ms": waitMillis})
	})
}

// key is what is limited: the API key (check it before!) or else the address.
func key(r *http.Request) string {
	if apiKey := r.Header.Get("X-API-Key"); apiKey != "" {
		return "key:" + apiKey
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return "ip:" + host
}

// seconds of milliseconds, rounded up.
func seconds(millis int64) string { return strconv.FormatInt((millis+999)/1000, 10) }

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
