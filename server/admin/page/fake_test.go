package page

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// policy is the content security policy that the page must work with.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'"

type object = map[string]any

// A fake implements the API with figures that change over time.
type fake struct {
	*httptest.Server

	mu              sync.Mutex
	login           string // the password; empty: no login required
	loggedIn        bool
	may             object
	offline         bool // connections are closed
	notReady        string
	cluster         any
	top             []object
	topError        string
	keys            map[string]object // by keyIn, that is by encodeKey in database 0
	resets          []string
	historyRequests []string // parameter since of each history request
	begin           time.Time
	hasSample       func(ms int64) bool // whether there is a sample; nil: always
	now             object              // fields that replace fields of replyNow
	samples         object              // columns that replace columns of sampleAt
	keyBarrier      chan struct{}       // unless nil, replies about a key wait until it is closed
	allKeys         []string            // all keys, for searches; a reply covers two
	rules           object              // fields that replace fields of replyRules
	matches         []string            // queries of requests for matches
	matchNow        object              // the answer that a request would get
	changes         []string            // bodies of requests to block and to reset by rules
}

// newFake starts a fake.
func newFake(t *testing.T) *fake {
	f := &fake{
		may: object{"peek": true, "admin": true}, begin: time.Now().Add(-10 * time.Minute),
		top: []object{
			row("ip:203.0.113.7", 48211, 0), row("user:8812:login", 9120, 12), row("api:acme-corp:export", 3302, 12),
			row("tenant:42", 981, 40),
			row("ip:2001:db8::8a2e:370:7334", 377, 40), row("user:17", 64, 40),
		},
		matchNow: object{"allowed": true, "reason": "ok", "name": "login/slide-1m", "remaining": 3, "wait_ms": 0,
			"error": ""},
		keys: map[string]object{encodeKey("user:42"): {
			"key": "user:42", "raw": encodeKey("user:42"), "algorithm": "TOKEN", "limit": 10,
			"rate":      object{"count": 5, "period_ns": 1_000_000_000},
			"window_ns": nil, "calendar": nil, "remaining": 3, "wait_ms": 0, "reset_ms": 1400,
		}},
	}
	mux := http.NewServeMux()
	mux.Handle("/", Handler())
	mux.HandleFunc("GET /api/session", func(w http.ResponseWriter, _ *http.Request) {
		user, may := "", f.may
		if f.loggedIn {
			user = "alice"
		}
		if f.login != "" && !f.loggedIn {
			may = object{"peek": false, "admin": false}
		}
		replyJSON(w, 200, object{"login_needed": f.login != "", "user": user, "may": may, "version": "1.0.0"})
	})
	mux.HandleFunc("POST /api/login", func(w http.ResponseWriter, r *http.Request) {
		var given struct{ User, Password string }
		if json.NewDecoder(r.Body).Decode(&given) != nil || given.Password != f.login {
			replyJSON(w, 401, object{"error": "invalid username-password pair or user is disabled."})
			return
		}
		f.loggedIn = true
		w.WriteHeader(204)
	})
	mux.HandleFunc("POST /api/logout", func(w http.ResponseWriter, _ *http.Request) {
		f.loggedIn = false
		w.WriteHeader(204)
	})
	mux.HandleFunc("GET /api/now", f.requireLogin(f.replyNow))
	mux.HandleFunc("GET /api/history", f.requireLogin(f.replyHistory))
	mux.HandleFunc("GET /api/top", f.requireLogin(func(w http.ResponseWriter, r *http.Request) {
		if f.topError != "" {
			replyJSON(w, 503, object{"error": f.topError})
			return
		}
		count, _ := strconv.Atoi(r.FormValue("count"))
		replyJSON(w, 200, object{"window_s": 60, "keys": f.top[:min(len(f.top), count)]})
	}))
	mux.HandleFunc("GET /api/keys", f.requireLogin(f.replyKeys))
	mux.HandleFunc("GET /api/key", f.requireLogin(func(w http.ResponseWriter, r *http.Request) {
		if hold := f.keyBarrier; hold != nil {
			f.mu.Unlock()
			<-hold
			f.mu.Lock()
		}
		is := object{"found": false}
		if key, ok := f.keys[keyIn(r.FormValue("db"), r.FormValue("raw"))]; ok {
			is = maps.Clone(key)
			is["found"] = true
		}
		replyJSON(w, 200, is)
	}))
	mux.HandleFunc("GET /api/rules", f.requireLogin(f.replyRules))
	mux.HandleFunc("GET /api/match", f.requireLogin(f.replyMatch))
	mux.HandleFunc("POST /api/reset", f.requireLogin(func(w http.ResponseWriter, r *http.Request) {
		var given struct {
			Raw string
			DB  json.Number
		}
		json.NewDecoder(r.Body).Decode(&given)
		if f.may["admin"] == false {
			replyJSON(w, 403, object{"error": "user \"alice\" is not in the group admin"})
			return
		}
		key := keyIn(given.DB.String(), given.Raw)
		f.resets = append(f.resets, key)
		delete(f.keys, key)
		replyJSON(w, 200, object{"forgotten": 1})
	}))
	mux.HandleFunc("POST /api/block", f.requireLogin(f.change(204, nil)))
	mux.HandleFunc("POST /api/rules/reset", f.requireLogin(f.change(200, object{"forgotten": 4})))
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.offline {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Security-Policy", policy)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// set changes a running fake.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) requireLogin(answers http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if f.login != "" && !f.loggedIn {
			replyJSON(w, 401, object{"error": "log in first"})
			return
		}
		if f.may["peek"] == false {
			replyJSON(w, 403, object{"error": "user \"alice\" is not in the group peek"})
			return
		}
		answers(w, r)
	}
}

// change returns the handler of a change, which records the bodies.
func (f *fake) change(status int, answer any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.changes = append(f.changes, r.URL.Path+" "+string(body))
		if answer == nil {
			w.WriteHeader(status)
			return
		}
		replyJSON(w, status, answer)
	}
}

func (f *fake) replyNow(w http.ResponseWriter, _ *http.Request) {
	is := object{
		"time_ms": time.Now().UnixMilli(), "version": "1.0.0", "uptime_s": 3725, "ready": f.notReady == "",
		"not_ready": f.notReady, "degraded": "", "clock_error_ms": 3,
		"decisions": object{
			"TOKEN": object{"allowed": 8123456, "denied": 121007}, "LOG": object{"allowed": 40211, "denied": 7},
			"FIXED": object{"allowed": 911, "denied": 0}, "LEASE": object{"allowed": 0, "denied": 0},
		},
		"requests": []object{
			{"via": "rl.check", "allowed": 41002, "denied": 95672, "shadow_denied": 11, "error": 3},
			{"via": "grpc", "allowed": 55_501, "denied": 4, "shadow_denied": 0, "error": 0},
		},
		"shadow_denied": 12, "keys": 1203441, "memory_bytes": 212 << 20, "max_memory_bytes": 256 << 20, "on_full": "evict",
		"connections": 214, "max_clients": 10000, "evicted": 1207, "refused_for_memory": 0, "cluster": f.cluster,
		"port": "6379", "storage": storageWith(nil, nil),
	}
	for name, value := range f.now {
		is[name] = value
	}
	replyJSON(w, 200, is)
}

func (f *fake) replyHistory(w http.ResponseWriter, r *http.Request) {
	f.historyRequests = append(f.historyRequests, r.FormValue("since"))
	since, _ := strconv.ParseInt(r.FormValue("since"), 10, 64)
	columns := map[string][]any{}
	for name := range sampleAt(0) {
		columns[name] = []any{}
	}
	for at := f.begin.UnixMilli(); at <= time.Now().UnixMilli(); at += 1000 {
		if at <= since || f.hasSample != nil && !f.hasSample(at) {
			continue
		}
		sample := sampleAt(at)
		maps.Copy(sample, f.samples)
		for name, value := range sample {
			columns[name] = append(columns[name], value)
		}
	}
	replyJSON(w, 200, columns)
}

// replyKeys answers a search; each reply covers two keys.
func (f *fake) replyKeys(w http.ResponseWriter, r *http.Request) {
	prefix, _ := base64.RawURLEncoding.DecodeString(r.FormValue("prefix"))
	from, _ := strconv.Atoi(r.FormValue("cursor"))
	to := min(from+2, len(f.allKeys))
	found := []object{}
	for _, key := range f.allKeys[from:to] {
		if strings.HasPrefix(key, string(prefix)) {
			found = append(found, object{"key": key, "raw": encodeKey(key), "algorithm": "TOKEN"})
		}
	}
	replyJSON(w, 200, object{"keys": found, "searched": to - from, "cursor": strconv.Itoa(to % len(f.allKeys))})
}

// storageWith returns the state of a log synced each second, with some fields replaced.
func storageWith(fields, ofSnapshot object) object {
	snapshot := object{"time_ms": time.Now().Add(-3 * time.Minute).UnixMilli(), "bytes": 81 << 20, "took_ms": 1200,
		"failed": "", "writing": false}
	maps.Copy(snapshot, ofSnapshot)
	all := object{"fsync": "everysec", "failed": "", "log_bytes": 12 << 20, "log_segments": 3, "unsynced": 214,
		"snapshot": snapshot}
	maps.Copy(all, fields)
	return all
}

// sampleAt invents a sample: steady load with waves of denials, and seconds without
// decisions.
func sampleAt(ms int64) map[string]any {
	s := float64(ms/1000%3600) / 60
	noise := math.Mod(math.Abs(math.Sin(float64(ms/1000)*12.9898)*43758.5453), 1)
	attack := math.Exp(-math.Pow(math.Mod(s, 5)-2.5, 2) / .12)
	sample := map[string]any{
		"time_ms": ms, "allowed": math.Round(4200 + 900*math.Sin(s/2) + 300*noise),
		"denied":        math.Round(90*noise + 3100*attack),
		"shadow_denied": 0, "evicted": 0, "refused_for_memory": 0,
		"p50_us": math.Round(70 + 15*noise), "p99_us": math.Round(260 + 500*noise*noise + 900*attack),
		"keys": math.Round(1.2e6 + 4e4*math.Sin(s/3)), "memory_bytes": math.Round(212e6 + 5e6*math.Sin(s/3)),
		"connections": math.Round(200 + 14*noise + 60*attack),
	}
	if ms/1000%97 == 0 {
		sample["allowed"], sample["denied"], sample["p50_us"], sample["p99_us"] = 0, 0, nil, nil
	}
	return sample
}

func row(key string, count, most int) object {
	return object{"key": key, "raw": encodeKey(key), "db": 0, "count": count, "error": most}
}

// keyIn returns the index in fake.keys of a key in base64url.
func keyIn(db, raw string) string {
	if db == "0" {
		return raw
	}
	return "db" + db + " " + raw
}

func encodeKey(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func replyJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

// threeMembers returns a cluster.
func threeMembers() object {
	member := func(host, id string, leader, online, self bool, lag, contact int) object {
		return object{
			"id": strings.Repeat(id, 20), "client": "10.0.3." + host + ":6379", "raft": "10.0.3." + host + ":7379",
			"leader": leader, "voter": true,
			"online": online, "self": self, "lag": lag, "last_contact_ms": contact, "version": "1.0.0", "clock_error_ms": 0,
		}
	}
	return object{"role": "follower", "term": 7, "has_quorum": true, "members": []object{
		member("2", "b2", false, true, true, 3, -1), member("1", "a1", true, true, false, 0, 12),
		member("3", "c3", false, false, false, 48211, 73_400),
	}}
}
