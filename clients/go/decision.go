package limitsrv

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxRemembered bounds the entries of the memory.
const maxRemembered = 10_000

// A Limit is a number of requests in a time.
type Limit struct {
	Requests int64         // from 1 on
	Per      time.Duration // from a millisecond on

	// Burst is the capacity of the bucket of TOKEN, by default Requests.
	Burst int64

	// Algorithm is TOKEN by default, or FIXED, SLIDE or LOG, with Per as the window.
	Algorithm string
}

func (l Limit) check() error {
	switch {
	case !slices.Contains([]string{"", "TOKEN", "FIXED", "SLIDE", "LOG"}, l.Algorithm):
		return fmt.Errorf("limitsrv: the algorithm is TOKEN, FIXED, SLIDE or LOG, got %q", l.Algorithm)
	case l.Requests < 1 || l.Per < time.Millisecond || l.Burst < 0:
		return fmt.Errorf("limitsrv: a limit needs requests from 1 on and a time from 1 ms on, got %d per %v, burst %d",
			l.Requests, l.Per, l.Burst)
	}
	return nil
}

func (l Limit) isBucket() bool { return l.Algorithm == "" || l.Algorithm == "TOKEN" }

// quota returns the capacity of a bucket, or the limit of a window.
func (l Limit) quota() int64 {
	if l.Burst > 0 && l.isBucket() {
		return l.Burst
	}
	return l.Requests
}

// arguments appends the arguments for a token of a key, in the form of RL.ALL.
func (l Limit) arguments(to []any, key string) []any {
	algorithm, per := l.Algorithm, fmt.Sprintf("%dms", l.Per.Milliseconds())
	if l.isBucket() {
		algorithm, per = "TOKEN", fmt.Sprintf("%d/%s", l.Requests, per)
	}
	return append(to, algorithm, key, l.quota(), per, 1)
}

// A take is a token of a key.
type take struct {
	policy string // the policy's name in headers
	key    string
	limit  Limit
}

// A decision is an answer of limitsrv. Times are milliseconds, and wait is -1 if the
// request can never pass.
type decision struct {
	allowed                       bool
	limit, remaining, wait, reset int64 // limit is -1 without a limit
	reason                        string
	name                          string // of the binding limit, as in the header RateLimit
	policies                      string // the header RateLimit-Policy
}

// takeAll takes a token of each key, or no token. A key that is known to be denied is not
// asked for.
func (l *Limiter) takeAll(ctx context.Context, takes []take) (decision, error) {
	policies := make([]string, len(takes))
	arguments := make([]any, 1, 1+5*len(takes))
	arguments[0] = "RL.ALL"
	for i, t := range takes {
		policies[i] = t.policy
	}
	joined := strings.Join(policies, ", ")
	for _, t := range takes {
		if d, ok := l.denied.get(t.key, time.Now()); ok {
			d.policies = joined
			return d, nil
		}
		arguments = t.limit.arguments(arguments, t.key)
	}
	asked := time.Now()
	reply, err := l.Do(ctx, arguments...)
	if err != nil {
		return decision{}, err
	}
	list, _ := reply.([]any)
	if len(list) != 2+len(takes) {
		return decision{}, unexpected(reply)
	}
	all := make([]decision, len(takes))
	for i, t := range takes {
		var ok bool
		if all[i], ok = parse(list[2+i]); !ok {
			return decision{}, unexpected(reply)
		}
		all[i].name, all[i].policies = name(t.policy), joined
		if !all[i].allowed {
			l.denied.put(t.key, all[i], asked, l.options.Remember)
		}
	}
	if binding, ok := list[1].(int64); ok && 0 <= binding && int(binding) < len(all) {
		return all[binding], nil
	}
	return decision{}, unexpected(reply)
}

func unexpected(reply any) error { return fmt.Errorf("limitsrv: an unexpected reply: %v", reply) }

// checkRules decides by the rules of a domain.
func (l *Limiter) checkRules(ctx context.Context, domain string, attributes []string) (decision, error) {
	key := domain + "\x00" + strings.Join(attributes, "\x00")
	if d, ok := l.denied.get(key, time.Now()); ok {
		return d, nil
	}
	arguments := []any{"RL.CHECK", domain}
	for _, attribute := range attributes {
		arguments = append(arguments, attribute)
	}
	asked := time.Now()
	reply, err := l.Do(ctx, append(arguments, "HEADERS")...)
	if err != nil {
		return decision{}, err
	}
	list, _ := reply.([]any)
	d, ok := parse(reply)
	if !ok || len(list) < 8 {
		return decision{}, unexpected(reply)
	}
	d.reason, _ = list[6].(string)
	headers, _ := list[7].([]any)
	for i := 0; i+1 < len(headers); i += 2 {
		switch value, _ := headers[i+1].(string); headers[i] {
		case "RateLimit-Policy":
			d.policies = value
		case "RateLimit":
			d.name = name(value)
		}
	}
	if !d.allowed {
		l.denied.put(key, d, asked, l.options.Remember)
	}
	return d, nil
}

// parse reads the five integers at the start of a reply.
func parse(reply any) (d decision, ok bool) {
	list, _ := reply.([]any)
	if len(list) < 5 {
		return d, false
	}
	var allowed int64
	for i, to := range []*int64{&allowed, &d.limit, &d.remaining, &d.wait, &d.reset} {
		if *to, ok = list[i].(int64); !ok {
			return d, false
		}
	}
	d.allowed = allowed != 0
	return d, true
}

// name returns the quoted name at the start of an item of the headers RateLimit and RateLimit-Policy.
func name(item string) string {
	for _, parameter := range []string{";r=", ";q="} {
		if at := strings.LastIndex(item, parameter); at >= 0 {
			return item[:at]
		}
	}
	return item
}

// write sets the headers. A request that met several limits has the policies of all, and
// the numbers of the denying limit or of the limit with the least remaining.
func (d decision) write(h http.Header) {
	if d.limit >= 0 {
		before, err := strconv.ParseInt(h.Get("X-RateLimit-Remaining"), 10, 64)
		if err != nil || !d.allowed || d.remaining < before {
			h.Set("X-RateLimit-Limit", strconv.FormatInt(d.limit, 10))
			h.Set("X-RateLimit-Remaining", strconv.FormatInt(d.remaining, 10))
			h.Set("X-RateLimit-Reset", strconv.FormatInt(seconds(d.reset), 10))
		}
	}
	if d.policies != "" {
		h.Add("RateLimit-Policy", d.policies)
	}
	if d.name != "" {
		left := max(1, seconds(d.wait))
		if d.allowed {
			left = seconds(d.reset)
		}
		state := fmt.Sprintf("%s;r=%d", d.name, d.remaining)
		if d.wait >= 0 {
			state += fmt.Sprintf(";t=%d", left)
		}
		h.Add("RateLimit", state)
	}
	if !d.allowed && d.wait >= 0 {
		h.Set("Retry-After", strconv.FormatInt(max(1, seconds(d.wait)), 10))
	}
}

// seconds converts milliseconds, rounded up.
func seconds(millis int64) int64 { return (millis + 999) / 1000 }

// A memory has denied keys, at most maxRemembered.
type memory struct {
	mu      sync.Mutex
	entries map[string]denial
}

type denial struct {
	decision     decision
	asked, until time.Time
}

func newMemory() *memory { return &memory{entries: map[string]denial{}} }

// put remembers a denial until the request would pass, and at most for longest.
func (m *memory) put(key string, d decision, asked time.Time, longest time.Duration) {
	if d.wait >= 0 {
		longest = min(longest, time.Duration(d.wait)*time.Millisecond)
	}
	if longest <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.entries[key]; !known && len(m.entries) >= maxRemembered {
		for other := range m.entries { // any entry
			delete(m.entries, other)
			break
		}
	}
	m.entries[key] = denial{d, asked, asked.Add(longest)}
}

// get returns the denial of a key as limitsrv would answer at now.
func (m *memory) get(key string, now time.Time) (decision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	if !now.Before(e.until) {
		delete(m.entries, key)
		return decision{}, false
	}
	d, passed := e.decision, now.Sub(e.asked).Milliseconds()
	d.reset = max(0, d.reset-passed)
	if d.wait >= 0 {
		d.wait = max(0, d.wait-passed)
	}
	return d, true
}
