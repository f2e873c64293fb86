package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"limitsrv/commands"
	"limitsrv/commands/auth"
	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
	"limitsrv/server"
)

// testStart is the time of the tests' clock.
const testStart = engine.Instant(1_700_000_000_000_000_000)

// A fixture is a server under test with its fakes.
type fixture struct {
	t *testing.T
	*Server
	handler    *session.Handler
	clock      *backend.TestClock
	store      *fakeStore
	cluster    *fakeCluster
	log        *testwait.Log
	wantErrors int // number of commands of execute that fail
}

// fakeStore has a settable status.
type fakeStore struct {
	backend.NoStore
	status status.Store
}

func (f *fakeStore) Status() status.Store { return f.status }

// fakeCluster is a single node, or a cluster after ofThree.
type fakeCluster struct {
	backend.NoCluster
	r     status.Replication
	nodes []status.Node
}

func (f *fakeCluster) Replication() status.Replication { return f.r }

func (f *fakeCluster) Nodes(string) []status.Node { return f.nodes }

// ofThree makes it the leader of three nodes.
func (f *fakeCluster) ofThree() {
	f.r = status.Replication{Role: status.Leader, HasQuorum: true, Term: 7, LastIndex: 110, LastContact: 0}
	f.nodes = []status.Node{
		{ID: "a", Host: "10.0.0.1", Port: 7001, Raft: "10.0.0.1:8001", Leader: true, Voter: true, Online: true, Index: 110,
			Version: "1"},
		{ID: "b", Host: "10.0.0.2", Port: 7002, Raft: "10.0.0.2:8002", Voter: true, Online: true, Index: 100,
			LastContact: 1500 * time.Millisecond, Version: "1", ClockOffset: 2500 * time.Millisecond, ClockKnown: true},
		{ID: "c", Raft: "10.0.0.3:8003", LastContact: -1},
	}
}

// fakeEvents has the state of events that a receiver does not take.
type fakeEvents struct{}

func (fakeEvents) Note([]checks.Event, func() *rules.Request) {}

func (fakeEvents) Keys() [][]byte { return nil }

func (fakeEvents) Status() status.Events {
	return status.Events{On: true, Listed: []status.EventCount{{Label: "near", N: 5}}, Dropped: [...]int64{1, 2, 3},
		Sent: 4, Failed: 6, Waiting: 7, Failing: "connection refused"}
}

// serve starts a server on loopback with a configuration modified by change, until the
// test ends.
func serve(t *testing.T, password string, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: backend.NewTestClock(testStart), store: &fakeStore{}, cluster: &fakeCluster{},
		log: new(testwait.Log)}
	e := engine.New(engine.Options{Commands: calls.Commands})
	f.handler = commands.NewHandler(session.Config{
		Exec: &backend.Local{Engine: e, Clock: f.clock}, Engine: func() *engine.Engine { return e }, Clock: f.clock,
		Store: f.store, Cluster: f.cluster, Password: password, Version: "1.2.3", Events: fakeEvents{},
		Options: func() []session.Option {
			return []session.Option{{Name: "max-memory", Value: "1000000"}, {Name: "max-clients", Value: "50"},
				{Name: "on-full", Value: "refuse"}}
		},
	})
	cfg := Config{
		Listen: "127.0.0.1:0", Handler: f.handler, Logger: f.log.Logger(),
		Traffic: func() server.Stats {
			return server.Stats{Clients: 3, Connections: 4, Rejected: 1, InputBytes: 10, OutputBytes: 20}
		},
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
	served := make(chan struct{})
	go func() {
		s.Serve()
		close(served)
	}()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-served
	})
	return f
}

// execute executes commands of a client.
func (f *fixture) execute(lines ...string) {
	f.t.Helper()
	s := f.handler.NewSessionAs(session.Client{Wake: func() {}, Close: func() {}}, f.account())
	defer s.Close()
	for _, line := range lines {
		var args [][]byte
		for word := range strings.FieldsSeq(line) {
			args = append(args, []byte(word))
		}
		for !s.Do(args) { // the rules are being compiled
			testwait.Until(f.t, 10*time.Second, "the command begins", s.Resume)
		}
	}
	s.Flush()
	if wrong := bytes.Count(s.Out, []byte("-ERR")); wrong > 0 && wrong != f.wantErrors {
		f.t.Fatalf("%q returned %q", lines, s.Out)
	}
}

// account returns an account with all rights.
func (f *fixture) account() *auth.Account {
	f.t.Helper()
	a, err := f.handler.Logins().Login(context.Background(), "127.0.0.1", auth.DefaultUser, []byte("secret"))
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// A requestOption modifies a request before it is sent.
type requestOption func(*http.Request)

func basic(user, password string) requestOption {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func header(name, value string) requestOption {
	return func(r *http.Request) {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
}

func cookie(c *http.Cookie) requestOption { return func(r *http.Request) { r.AddCookie(c) } }

// request sends a request, a POST if there is a body, and reads the reply.
func (f *fixture) request(path, body string, changes ...requestOption) (*http.Response, string) {
	f.t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, "http://"+f.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, change := range changes {
		change(r)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		f.t.Fatalf("%s: %v", path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatalf("%s: %v", path, err)
	}
	return answer, strings.TrimSpace(string(text))
}

// expect sends a request and compares the reply.
func (f *fixture) expect(path, body string, status int, want string, changes ...requestOption) {
	f.t.Helper()
	answer, got := f.request(path, body, changes...)
	if answer.StatusCode != status || got != want {
		f.t.Errorf("%s %s returns %d %s, want %d %s", path, body, answer.StatusCode, got, status, want)
	}
}

// getJSON requests and decodes JSON.
func getJSON[T any](f *fixture, path string, changes ...requestOption) (is T) {
	f.t.Helper()
	answer, text := f.request(path, "", changes...)
	if answer.StatusCode != http.StatusOK {
		f.t.Fatalf("%s returns %d %s", path, answer.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		f.t.Fatalf("%s returns %s: %v", path, text, err)
	}
	return is
}

func TestHealth(t *testing.T) {
	f := serve(t, "secret", nil)
	f.expect("/livez", "", 200, "ok")
	f.expect("/readyz", "", 200, "ready")
	f.expect("/readyz", "", 200, "ready", header("Host", "probe.example"))
	f.expect("/readyz?verbose", "", 200, "ready\nloaded: ok\nserving: ok\nquorum: ok\nmember: ok\nlog: ok")
	f.handler.SetLoading(true)
	f.expect("/readyz", "", 503, "not ready: the state is being loaded")
	f.store.status.Failed = errors.New("disk\nfull")
	f.expect("/readyz", "", 503, "not ready: the state is being loaded; decisions can't be written to disk: disk full")
	f.handler.SetLoading(false)
	for fsync, want := range map[string]int{"always": 503, "everysec": 200, "no": 200} {
		body := map[int]string{503: "not ready: ", 200: "ready, degraded: "}[want] +
			"decisions can't be written to disk: disk full"
		f.store.status.Fsync = fsync
		f.expect("/readyz", "", want, body)
		f.expect("/readyz?verbose", "", want,
			body+"\nloaded: ok\nserving: ok\nquorum: ok\nmember: ok\nlog: decisions can't be written to disk: disk full")
	}
	f.store.status = status.Store{}
	f.cluster.ofThree()
	f.expect("/readyz", "", 200, "ready")
	f.cluster.r.HasQuorum = false
	f.expect("/readyz", "", 503, "not ready: the cluster has no leader that decides")
	f.cluster.r.Trouble = "no majority of the cluster can be reached"
	f.expect("/readyz?verbose", "", 503, "not ready: no majority of the cluster can be reached\nloaded: ok\nserving: "+
		"ok\nquorum: no majority of the cluster can be reached\nmember: ok\nlog: ok")
	f.cluster.r.HasQuorum, f.cluster.r.Trouble = true, ""
	f.cluster.r.Pending = "this node has no vote yet"
	f.expect("/readyz?verbose", "", 503, "not ready: this node has no vote yet\nloaded: ok\nserving: ok\nquorum: "+
		"ok\nmember: this node has no vote yet\nlog: ok")
	f.cluster.r.Pending = ""
	f.handler.Drain()
	f.expect("/readyz", "", 503, "not ready: the server is shutting down")
	f.expect("/livez", "", 200, "ok")
}
