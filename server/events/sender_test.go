package events

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/testing/testwait"
)

// A list is a List in memory.
type list struct {
	mu      sync.Mutex
	events  [][]byte
	changed chan struct{}
	failed  []string
	failing bool
	idle    atomic.Int64
}

func newList() *list { return &list{changed: make(chan struct{}, 1)} }

func (l *list) add(events ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.events = append(l.events, []byte(e))
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *list) Read(context.Context) ([][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[:min(3, len(l.events))]), nil
}

func (l *list) Remove(_ context.Context, all [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events, l.failing = l.events[len(all):], false
	return nil
}

func (l *list) Changed() <-chan struct{} { return l.changed }

func (l *list) Failed(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.failing
	l.failed, l.failing = append(l.failed, err.Error()), true
	return first
}

func (l *list) Idle() { l.idle.Add(1) }

func (l *list) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// A receiver answers deliveries, and checks their signatures.
type receiver struct {
	t       *testing.T
	secrets []string
	answer  func() (status int, err error)

	mu    sync.Mutex
	got   []string
	times []time.Time
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
	}
	status, err := r.answer()
	if err == nil && status == 0 { // it never answers
		<-q.Context().Done()
		err = q.Context().Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, time.Now())
	if err != nil {
		return nil, err
	}
	if wrong := verify(q.Header.Get(SignatureHeader), body, r.secrets); wrong != "" {
		r.t.Error(wrong)
	}
	var all struct{ Events []json.RawMessage }
	if err := json.Unmarshal(body, &all); err != nil || q.Method != http.MethodPost ||
		q.Header.Get("Content-Type") != "application/json" {
		r.t.Errorf("%s %s %v: %v", q.Method, body, q.Header, err)
	}
	if status == 200 {
		for _, e := range all.Events {
			r.got = append(r.got, string(e))
		}
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("fine")),
		Header: http.Header{"Location": {"http://127.0.0.1/other"}}}, nil
}

// verify checks a signature as a receiver does, and returns the mistake.
func verify(header string, body []byte, secrets []string) string {
	parts := strings.Split(header, ",")
	seconds, ok := strings.CutPrefix(parts[0], "t=")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if age := time.Since(time.Unix(at, 0)); !ok || err != nil || age < -time.Minute || age > time.Minute {
		return "time of signature " + header
	}
	var want []string
	for _, s := range secrets {
		mac := hmac.New(sha256.New, []byte(s))
		fmt.Fprintf(mac, "%s.%s", seconds, body)
		want = append(want, "v1="+hex.EncodeToString(mac.Sum(nil)))
	}
	if !slices.Equal(parts[1:], want) {
		return "signature " + header + " of " + string(body)
	}
	return ""
}

// start runs a Sender. stop ends it and waits.
func start(l *list, r *receiver, leads func() bool) (stop func()) {
	s := New(Config{URL: "https://events.example/in", Secrets: func() []string { return r.secrets }, List: l, Leads: leads,
		Version: "1", Log: slog.New(slog.DiscardHandler), Transport: r})
	ctx, cancel := context.WithCancel(context.Background())
	last, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		s.Run(ctx, last)
		close(ended)
	}()
	return func() {
		cancel()
		defer time.AfterFunc(time.Second, end).Stop()
		<-ended
		end()
	}
}

func always() bool { return true }

// TestAtLeastOnce: a receiver that fails in random ways gets each event, in the order of the list, and
// only once if its confirmations arrive.
func TestAtLeastOnce(t *testing.T) {
	seed := testwait.Seed(t)
	random, answers := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
	synctest.Test(t, func(t *testing.T) {
		l, r := newList(), &receiver{t: t, secrets: []string{"0123456789abcdef", "fedcba9876543210"}}
		r.answer = func() (int, error) {
			return [...]int{200, 200, 500, 302, 404, 0}[answers.IntN(6)], nil
		}
		stop := start(l, r, always)
		var want []string
		for i := range 100 {
			event := fmt.Sprintf(`{"id":"%d"}`, i)
			want = append(want, event)
			if l.add(event); i%7 == 0 {
				l.add("text of a client") // it is no event
			}
			time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
		}
		for l.len() > 0 {
			time.Sleep(time.Minute)
		}
		stop()
		if !slices.Equal(r.got, want) {
			t.Errorf("events %v, want %v", r.got, want)
		}
		if len(l.failed) == 0 || !slices.Contains(l.failed, "the receiver must answer with a status of 200 to 299, got 302") {
			t.Errorf("failures %q", l.failed)
		}
	})
}

// TestPauses: the pause doubles with each failure up to a minute, and is short after a success.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		l, r := newList(), &receiver{t: t}
		r.answer = func() (int, error) {
			if down.Load() {
				return 0, errors.New("refused")
			}
			return 200, nil
		}
		stop := start(l, r, always)
		l.add(`{"id":"1"}`)
		time.Sleep(10 * time.Minute)
		down.Store(false)
		time.Sleep(2 * time.Minute)
		l.add(`{"id":"2"}`)
		synctest.Wait()
		if want := []string{`{"id":"1"}`, `{"id":"2"}`}; !slices.Equal(r.got, want) {
			t.Errorf("events %v, want %v", r.got, want)
		}
		pause := leastPause
		for i := 1; i < 12; i++ {
			if got := r.times[i].Sub(r.times[i-1]); got < pause || got > pause*5/4 {
				t.Errorf("pause %d is %v, want %v to %v", i, got, pause, pause*5/4)
			}
			pause = min(2*pause, mostPause)
		}
		stop()
	})
}

// TestLeads: only the node that leads sends, within some seconds after it begins to lead.
func TestLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leads atomic.Bool
		l, r := newList(), &receiver{t: t, answer: func() (int, error) { return 200, nil }}
		l.add(`{"id":"1"}`)
		stop := start(l, r, leads.Load)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.got) > 0 || l.idle.Load() == 0 {
			t.Errorf("events %v, idle %d, want no event", r.got, l.idle.Load())
		}
		leads.Store(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(r.got) != 1 {
			t.Errorf("events %v, want one", r.got)
		}
		stop()
	})
}

// TestStop: a stop sends the events that are left, and does not wait for a receiver that fails.
func TestStop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		want   int
		within time.Duration
	}{
		{"all are sent", 200, 10, 0},
		{"the receiver fails", 500, 0, 0},
		{"the receiver does not answer", 0, 0, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, r := newList(), &receiver{t: t, answer: func() (int, error) { return tt.status, nil }}
			stop := start(l, r, always)
			synctest.Wait()
			l.mu.Lock()
			for i := range 10 {
				l.events = append(l.events, fmt.Appendf(nil, `{"id":"%d"}`, i)) // without a wake-up
			}
			l.mu.Unlock()
			began := time.Now()
			stop()
			if took := time.Since(began); len(r.got) != tt.want || took > tt.within {
				t.Errorf("%s: %d events in %v, want %d in %v", tt.name, len(r.got), took, tt.want, tt.within)
			}
		})
	}
}

// TestHTTP sends to a real receiver: a redirect is not followed, and the error does not have the path
// of the address.
func TestHTTP(t *testing.T) {
	paths := make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		paths <- q.URL.Path
		if strings.HasPrefix(q.URL.Path, "/moved") {
			http.Redirect(w, q, "/in", http.StatusTemporaryRedirect)
		}
		w.Write(make([]byte, 2*maxReplyBytes))
	}))
	defer server.Close()
	for _, tt := range []struct{ url, failure string }{
		{server.URL + "/in", ""},
		{server.URL + "/moved", "got 307"},
		{"http://127.0.0.1:1/secret", "refused"},
	} {
		s := New(Config{URL: tt.url, Secrets: func() []string { return nil }})
		err := s.post(context.Background(), []byte("{}"))
		if (err == nil) != (tt.failure == "") || err != nil && !strings.Contains(err.Error(), tt.failure) {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.failure)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v has the path", err)
		}
		s.client.CloseIdleConnections()
	}
	if close(paths); len(paths) != 2 {
		t.Errorf("%d requests, want 2", len(paths))
	}
}

func TestCheckURL(t *testing.T) {
	for _, tt := range []struct{ url, wrong string }{
		{"https://events.example/in?token=x", ""}, {"http://127.0.0.1:80/in", ""}, {"http://[::1]/", ""},
		{"http://localhost/", ""},
		{"http://events.example/", "it must be https, because"}, {"http://127.0.0.1.example/", "it must be https, because"},
		{"https://user:pass@events.example/", "no user and password"}, {"events.example", "another form"},
		{"ftp://events.example/", "another form"}, {"https:///in", "another form"}, {"https://e/#f", "another form"},
		{"%", "another form"},
	} {
		err := CheckURL(tt.url)
		if (err == nil) != (tt.wrong == "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) ||
			strings.Contains(err.Error(), "pass@")) {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.wrong)
		}
	}
}
