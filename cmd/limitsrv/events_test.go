package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const eventSecret = "0123456789abcdef0123456789abcdef"

// An eventReceiver receives events.
type eventReceiver struct {
	url  string
	down atomic.Bool // answers 500

	mu  sync.Mutex
	got map[string]map[string]bool // the ids of "KIND CUSTOMER"
}

func receiveEvents(t *testing.T) *eventReceiver {
	r := &eventReceiver{got: make(map[string]map[string]bool)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if r.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		body, _ := io.ReadAll(q.Body)
		header := q.Header.Get("Limitsrv-Signature")
		seconds, _, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",")
		mac := hmac.New(sha256.New, []byte(eventSecret))
		fmt.Fprintf(mac, "%s.%s", seconds, body)
		if want := "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil)); header != want {
			t.Errorf("signature %s, want %s", header, want)
		}
		var all struct {
			Events []struct {
				ID, Kind   string
				Attributes map[string]string
			}
		}
		if err := json.Unmarshal(body, &all); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range all.Events {
			name := e.Kind + " " + e.Attributes["tenant"]
			if r.got[name] == nil {
				r.got[name] = make(map[string]bool)
			}
			r.got[name][e.ID] = true
		}
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/in"
	return r
}

// has reports whether an event has arrived.
func (r *eventReceiver) has(event string) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.got[event] != nil
	}
}

// requireOnce requires that these events have arrived, and that each was told once: if it arrived
// again, because a confirmation was lost, it had the same id.
func (r *eventReceiver) requireOnce(t *testing.T, events ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if len(r.got[e]) != 1 {
			t.Errorf("%s has the ids %v, want one", e, r.got[e])
		}
	}
	if len(r.got) != len(events) {
		t.Errorf("events %v, want %q", r.got, events)
	}
}

// options returns options to send events of a limit of 5 in a month for each tenant.
func (r *eventReceiver) options(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	secret, rules := filepath.Join(dir, "secret"), filepath.Join(dir, "rules.yaml")
	for name, text := range map[string]string{secret: eventSecret + "\n", rules: `domain: api
rules:
  - {name: quota, per: [tenant], limits: [5/month events, 1000/s], penalty: {after: 2, within: 1d, block: 1d, events: true}}
`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--rules", rules, "--events-url", r.url, "--events-secret-file", secret}
}

// TestEvents: events reach a receiver that was down, and are told once, also after a restart.
func TestEvents(t *testing.T) {
	r := receiveEvents(t)
	options := append(r.options(t), "--data", t.TempDir())
	a := serve(t, options...)
	w := wired(t, a.address)
	w.loaded(t)
	r.down.Store(true)
	for range 8 {
		w.do(t, "RL.CHECK api tenant acme")
	}
	until(t, "a delivery fails", func() bool { return w.info(t, "events_error") != "" })
	if got := w.info(t, "events_waiting"); got == "0" {
		t.Errorf("%s events wait, want some", got)
	}
	r.down.Store(false)
	until(t, "the events arrive", r.has("blocked acme"))
	until(t, "the list is empty", func() bool { return w.do(t, "LLEN limitsrv:events") == int64(0) })
	w.do(t, "RL.CHECK api tenant late HITS 5")
	a.end(t)

	b := serve(t, options...)
	w = wired(t, b.address)
	w.loaded(t)
	w.do(t, "RL.CHECK api tenant acme")
	w.do(t, "RL.CHECK api tenant late")
	until(t, "the event of the last request arrives", r.has("exhausted late"))
	r.requireOnce(t, "near acme", "exhausted acme", "blocked acme", "near late", "exhausted late")
	if log := a.logged() + b.logged(); strings.Contains(log, "/in") || strings.Contains(log, eventSecret) {
		t.Errorf("the log has the path of the receiver, or the secret:\n%s", log)
	}
}

// TestEventsInList: without an address, clients take the events from a list.
func TestEventsInList(t *testing.T) {
	r := receiveEvents(t)
	w := wired(t, serve(t, append(r.options(t)[:2], "--events-list")...).address)
	w.loaded(t)
	w.do(t, "RL.CHECK api tenant acme HITS 5")
	if got := fmt.Sprint(w.do(t, "BLPOP limitsrv:events 9")); !strings.Contains(got, `"kind":"near"`) {
		t.Errorf("BLPOP replies %s", got)
	}
	r.requireOnce(t)
}

func TestEventsOptions(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("too short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no secret", []string{"--events-url", "https://a.example/"}, "--events-url and --events-secret-file go together"},
		{"no address", []string{"--events-secret-file", secret}, "--events-url and --events-secret-file go together"},
		{"not encrypted", []string{"--events-url", "http://a.example/"}, "--events-url: it must be https"},
		{"both", []string{"--events-url", "https://a.example/", "--events-secret-file", secret, "--events-list"},
			"--events-url and --events-list exclude each other"},
		{"no commands", []string{"--events-list", "--limits-only"}, "--limits-only rejects"},
		{"a short secret", []string{"--events-url", "https://a.example/", "--events-secret-file", secret},
			"line 1: a secret must have at least 16 bytes, got 9"},
	} {
		_, log, code := runs(t, limitsrv(nil, tt.args...))
		if code == exitOK || !strings.Contains(log, tt.want) || strings.Contains(log, "too short") {
			t.Errorf("%s: exit %d, %q, want %q", tt.name, code, log, tt.want)
		}
	}
}
