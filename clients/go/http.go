package limitsrv

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

// maxIdentityBytes bounds the part of a key that a client chooses.
const maxIdentityBytes = 128

// A Config describes the limits of a middleware. A request takes a token from the limit of
// its address and, if it has a key, from the limit of the key: all or none. So an API key
// that nobody has checked yet does not avoid the limit of the address.
type Config struct {
	// Name is a part of all keys: limits with different names share nothing. Required.
	Name string

	// PerAddress is the limit of each address. Required.
	PerAddress Limit

	// PerKey is the limit of each key; by default keys have no limit.
	PerKey *Limit

	// Key returns the key of a request, such as the id of a customer, or "". By default it
	// is a digest of the header X-API-Key.
	Key func(*http.Request) string

	// Address returns the address of a request, by default of RemoteAddr. Behind a proxy
	// it must return the address that the proxy reports.
	Address func(*http.Request) string
}

// Middleware returns a middleware that takes tokens before the next handler.
//
// Errors: a name that is missing, wrong or in use, and a wrong limit.
func (l *Limiter) Middleware(c Config) (func(http.Handler) http.Handler, error) {
	err := c.PerAddress.check()
	if c.PerKey != nil {
		err = errors.Join(err, c.PerKey.check())
	}
	if err == nil {
		err = l.claim(c.Name)
	}
	if err != nil {
		return nil, err
	}
	if c.Key == nil {
		c.Key = func(r *http.Request) string { return Digest(r.Header.Get("X-API-Key")) }
	}
	if c.Address == nil {
		c.Address = RemoteAddress
	}
	perAddress := take{policy: policy(c.Name+"/address", c.PerAddress), limit: c.PerAddress}
	var perKey take
	if c.PerKey != nil {
		perKey = take{policy: policy(c.Name+"/key", *c.PerKey), limit: *c.PerKey}
	}
	return l.wrap(func(r *http.Request) (decision, error) {
		takes := make([]take, 1, 2)
		takes[0] = perAddress
		takes[0].key = c.Name + ":ip:" + bounded(network(c.Address(r)))
		if c.PerKey != nil {
			if key := c.Key(r); key != "" {
				perKey := perKey
				perKey.key = c.Name + ":key:" + bounded(key)
				takes = append(takes, perKey)
			}
		}
		return l.takeAll(r.Context(), takes)
	}), nil
}

// Rules returns a middleware that decides by the rules of a domain on the server.
// attributes returns names and values in turn; by default they are path, method, ip, and
// api_key, a digest of the header X-API-Key if the request has it.
func (l *Limiter) Rules(domain string, attributes func(*http.Request) []string) func(http.Handler) http.Handler {
	if attributes == nil {
		attributes = describe
	}
	return l.wrap(func(r *http.Request) (decision, error) {
		return l.checkRules(r.Context(), domain, attributes(r))
	})
}

func describe(r *http.Request) []string {
	all := []string{"path", r.URL.Path, "method", r.Method, "ip", RemoteAddress(r)}
	if key := Digest(r.Header.Get("X-API-Key")); key != "" {
		all = append(all, "api_key", key)
	}
	return all
}

func (l *Limiter) wrap(decide func(*http.Request) (decision, error)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch d, err := decide(r); {
			case err != nil && l.options.FailClosed:
				w.Header().Set("Retry-After", "1")
				answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the rate limiter does not answer"})
			case err != nil:
				next.ServeHTTP(w, r)
			default:
				d.write(w.Header())
				if d.allowed {
					next.ServeHTTP(w, r)
					return
				}
				body := map[string]any{"error": "too many requests", "retry_after_ms": d.wait}
				if d.reason != "" {
					body["reason"] = d.reason
				}
				answer(w, http.StatusTooManyRequests, body)
			}
		})
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) // a client that is gone gets no body
}

// RemoteAddress returns the address of RemoteAddr.
func RemoteAddress(r *http.Request) string {
	if parsed, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return parsed.Addr().Unmap().WithZone("").String()
	}
	return r.RemoteAddr
}

// network returns an IPv4 address, or the /64 network of an IPv6 address: a client may
// have all addresses of such a network.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if parsed = parsed.Unmap().WithZone(""); parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, 64).Masked().String()
}

// bounded returns a text of at most maxIdentityBytes.
func bounded(identity string) string {
	if len(identity) > maxIdentityBytes {
		return Digest(identity)
	}
	return identity
}

// Digest returns 32 hexadecimal digits of the SHA-256 of a secret, or "" for "". So no
// secret is in the keys of the server.
func Digest(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// policy returns an item of the header RateLimit-Policy: its w is the window in seconds,
// for a bucket the time to fill it.
func policy(name string, l Limit) string {
	quota, window := l.quota(), l.Per
	if l.isBucket() {
		window = time.Duration(float64(l.Per) * float64(quota) / float64(l.Requests))
	}
	return fmt.Sprintf("%q;q=%d;w=%d", name, quota, seconds(window.Milliseconds()))
}
