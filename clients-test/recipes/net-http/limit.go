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

// Limit limits requests with limitsrv.
type Limit struct {
	Redis    *redis.Client // with ContextTimeoutEnabled
	Timeout  time.Duration // of requests to limitsrv
	Open     bool          // whether requests are allowed while limitsrv is unavailable
	Capacity int           // tokens per key, in the form of RL.TOKEN
	Rate     string        // refill rate: "5", "100/1m"
}

// Of returns a handler that applies the limit before next.
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

// key returns the key of a request: the API key (validate it first!) or else the address.
func key(r *http.Request) string {
	if apiKey := r.Header.Get("X-API-Key"); apiKey != "" {
		return "key:" + apiKey
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return "ip:" + host
}

// seconds converts milliseconds, rounded up.
func seconds(millis int64) string { return strconv.FormatInt((millis+999)/1000, 10) }

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
