package rls

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
)

// wantCode checks the code of a call.
func wantCode(t *testing.T, name string, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
}

func TestShouldRateLimit(t *testing.T) {
	f := start(t, "", nil)
	client := f.envoy()
	f.decider.set(func(_ context.Context, c session.Call, q *checks.Request) (*checks.Answer, error) {
		if string(q.Domain) != "api" || string(q.Descriptors[0].Entries[0].Value) != "/cart" || q.Hits != 2 ||
			!strings.HasPrefix(c.From, "127.0.0.1:") || c.Account.Name() != "default" {
			return nil, fmt.Errorf("request %q of %s at %s", q.Domain, c.Account.Name(), c.From)
		}
		return answered(false), nil
	})
	in := asks("api", "path", "/cart")
	in.HitsAddend = 2
	for range 3 {
		out, err := client.ShouldRateLimit(within(t), in)
		if err != nil {
			t.Fatalf("%v\n%s", err, f.log.String())
		}
		one := out.GetStatuses()[0]
		if out.GetOverallCode() != service.RateLimitResponse_OVER_LIMIT || one.GetCurrentLimit().GetRequestsPerUnit() != 3 ||
			one.GetDurationUntilReset().GetSeconds() != 1800 {
			t.Errorf("the response is %v", out)
		}
	}
}

// TestCodes answers each kind of error with the code of its own.
func TestCodes(t *testing.T) {
	f := start(t, "", nil)
	client := f.envoy()
	for _, tt := range []struct {
		err  error
		want codes.Code
		text string
	}{
		{resp.NewError("ERR", `domain: 1 to 256 bytes, got ""`), codes.InvalidArgument, `ERR domain: 1 to 256 bytes, got ""`},
		{resp.NewError("NOPERM", "no"), codes.PermissionDenied, "NOPERM no"},
		{resp.NewError("LOADING", "wait"), codes.Unavailable, "LOADING wait"},
		{fmt.Errorf("batch: %w", resp.NewError("CLUSTERDOWN", "no leader")), codes.Unavailable, "CLUSTERDOWN no leader"},
		{resp.NewError("UNCERTAIN", "perhaps"), codes.Aborted, "UNCERTAIN perhaps"},
		{resp.NewError("OOM", "full"), codes.ResourceExhausted, "OOM full"},
		{resp.NewError("NEW", "word"), codes.Unavailable, "NEW word"},
		{errors.New("secret"), codes.Internal, "internal error"},
	} {
		f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) { return nil, tt.err })
		_, err := client.ShouldRateLimit(within(t), asks("api", "k", "v"))
		wantCode(t, tt.err.Error(), err, tt.want)
		if text := status.Convert(err).Message(); text != tt.text {
			t.Errorf("%v is answered as %q, want %q", tt.err, text, tt.text)
		}
	}
	if !f.hasLogged("secret") {
		t.Errorf("an error of the server is not in the log\n%s", f.log.String())
	}
}

// TestHarmfulRequests sends requests that end or disturb other servers. The server refuses
// them, or bounds them, and answers the next.
func TestHarmfulRequests(t *testing.T) {
	f := start(t, "", nil)
	client := f.envoy()
	limit := func(unit typev3.RateLimitUnit) *service.RateLimitRequest {
		in := asks("api", "k", "v")
		in.Descriptors[0].Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 5, Unit: unit}
		return in
	}
	hits := asks("api", "k", "v")
	hits.Descriptors[0].HitsAddend = wrapperspb.UInt64(1<<64 - 1)
	many := asks("api", "k", "v")
	for range 64 {
		many.Descriptors = append(many.Descriptors, many.Descriptors[0])
	}
	for _, tt := range []struct {
		name string
		in   *service.RateLimitRequest
		want codes.Code
	}{
		{"a limit without a unit", limit(0), codes.InvalidArgument},
		{"a limit of an unknown unit", limit(99), codes.InvalidArgument},
		{"too many descriptors", many, codes.InvalidArgument},
		{"hits of 2^64-1", hits, codes.OK},
		{"a long message", asks("api", "k", strings.Repeat("v", 64<<10)), codes.ResourceExhausted},
	} {
		f.decider.set(func(_ context.Context, _ session.Call, q *checks.Request) (*checks.Answer, error) {
			if len(q.Own) > 0 && q.Own[0] != 2_000_000_000_001 {
				return nil, fmt.Errorf("%d hits", q.Own[0])
			}
			return answered(true), nil
		})
		_, err := client.ShouldRateLimit(within(t), tt.in)
		wantCode(t, tt.name, err, tt.want)
		_, err = client.ShouldRateLimit(within(t), asks("api", "k", "v"))
		wantCode(t, "the request after "+tt.name, err, codes.OK)
	}
	f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) { panic("a bug") })
	_, err := client.ShouldRateLimit(within(t), asks("api", "k", "v"))
	wantCode(t, "a panic", err, codes.Internal)
	if !f.hasLogged("a bug") {
		t.Errorf("a panic is not in the log\n%s", f.log.String())
	}
}

func TestGRPCLogin(t *testing.T) {
	f := start(t, "secret", nil)
	client := f.envoy()
	in := asks("api", "k", "v")
	for name, ctx := range map[string]context.Context{
		"no login":         within(t),
		"a wrong password": basic(within(t), "default", "Secret"),
		"another user":     basic(within(t), "root", "secret"),
	} {
		_, err := client.ShouldRateLimit(ctx, in)
		wantCode(t, name, err, codes.Unauthenticated)
	}
	_, err := client.ShouldRateLimit(basic(within(t), "default", "secret"), in)
	wantCode(t, "the password", err, codes.OK)
	out, err := grpc_health_v1.NewHealthClient(f.dial()).Check(within(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || out.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health without a login is %v, %v", out, err)
	}
}

func TestHealth(t *testing.T) {
	var ready atomic.Bool
	f := start(t, "", func(c *Config) { c.Ready = ready.Load })
	client := grpc_health_v1.NewHealthClient(f.dial())
	watch, err := client.Watch(within(t), &grpc_health_v1.HealthCheckRequest{Service: "ratelimit"})
	if err != nil {
		t.Fatal(err)
	}
	next := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		out, err := watch.Recv()
		if err != nil || out.GetStatus() != want {
			t.Fatalf("the watcher receives %v, %v; want %v", out, err, want)
		}
	}
	next(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	ready.Store(true)
	next(grpc_health_v1.HealthCheckResponse_SERVING)
	for _, name := range []string{"", "ratelimit"} {
		out, err := client.Check(within(t), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || out.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q is %v, %v", name, out, err)
		}
	}
	_, err = client.Check(within(t), &grpc_health_v1.HealthCheckRequest{Service: "other"})
	wantCode(t, "another service", err, codes.NotFound)
	go f.Shutdown(within(t))
	next(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a watcher of a server that stops gets %v", err)
	}
}

// TestDrain begins a shutdown during a call, which is answered.
func TestDrain(t *testing.T) {
	f := start(t, "", nil)
	began, goOn := make(chan struct{}), make(chan struct{})
	f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) {
		close(began)
		<-goOn
		return answered(true), nil
	})
	client := f.envoy()
	done := make(chan error, 1)
	go func() {
		_, err := client.ShouldRateLimit(within(t), asks("api", "k", "v"))
		done <- err
	}()
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- f.Shutdown(within(t)) }()
	<-f.draining.Done()
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("the call during the shutdown: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if nc, err := net.Dial("tcp", f.GRPCAddr().String()); err == nil {
		nc.Close()
		t.Error("a server that has stopped accepts connections")
	}
}

// TestShutdownIsBounded cuts off a call that has no end.
func TestShutdownIsBounded(t *testing.T) {
	f := start(t, "", nil)
	began := make(chan struct{})
	f.decider.set(func(ctx context.Context, _ session.Call, _ *checks.Request) (*checks.Answer, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	client := f.envoy()
	done := make(chan error, 1)
	go func() {
		_, err := client.ShouldRateLimit(within(t), asks("api", "k", "v"))
		done <- err
	}()
	<-began
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Shutdown(ended); err == nil {
		t.Error("a shutdown that cuts off a call has no error")
	}
	if err := <-done; err == nil {
		t.Error("a call that was cut off has an answer")
	}
}

func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	f := start(t, "", func(c *Config) {
		c.GRPC = "unix:" + socket
		c.TLS = func() *tls.Config { panic("TLS at a unix socket") }
		c.HTTP = ""
	})
	f.decider.set(func(_ context.Context, c session.Call, _ *checks.Request) (*checks.Answer, error) {
		if c.From != socket+":0" {
			return nil, fmt.Errorf("from %s", c.From)
		}
		return answered(true), nil
	})
	_, err := f.envoy().ShouldRateLimit(within(t), asks("api", "k", "v"))
	wantCode(t, "a call over a unix socket", err, codes.OK)
}

// newTLS returns a certificate for 127.0.0.1, and the pool that has it.
func newTLS(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

// TestTLS requires client certificates: a client with a certificate is answered, a client
// without is not.
func TestTLS(t *testing.T) {
	config, pool := newTLS(t)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, pool
	var asked, accepted atomic.Int64
	f := start(t, "", func(c *Config) {
		c.TLS = func() *tls.Config {
			asked.Add(1)
			return config
		}
		c.Count = func(ln net.Listener) net.Listener { return countedBy{ln, &accepted} }
	})
	client := &tls.Config{RootCAs: pool, Certificates: config.Certificates}
	over := func(c *tls.Config) error {
		conn := f.dial(grpc.WithTransportCredentials(credentials.NewTLS(c)))
		_, err := service.NewRateLimitServiceClient(conn).ShouldRateLimit(within(t), asks("api", "k", "v"))
		return err
	}
	wantCode(t, "with a certificate", over(client), codes.OK)
	if asked.Load() != 1 || accepted.Load() != 1 {
		t.Errorf("%d configurations for %d connections, want 1", asked.Load(), accepted.Load())
	}
	wantCode(t, "without one", over(&tls.Config{RootCAs: pool}), codes.Unavailable)
	_, err := f.envoy().ShouldRateLimit(within(t), asks("api", "k", "v"))
	wantCode(t, "without TLS", err, codes.Unavailable)
	answer, _ := f.post("https", client, "/v1/check", `{"domain":"api","attributes":{"ip":"a"}}`)
	if answer.StatusCode != 200 || answer.ProtoMajor != 1 {
		t.Errorf("HTTP over TLS returns %s %s", answer.Proto, answer.Status)
	}
}

// TestLoginOutlivesItsCall sends the password in calls that have ended, as Envoy's do while
// a password is checked.
func TestLoginOutlivesItsCall(t *testing.T) {
	f := start(t, "secret", nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	sent, _ := metadata.FromOutgoingContext(basic(ended, "default", "secret"))
	for i := range 20 { // each from an address of its own, which has not logged in
		account, err := f.accountOf(metadata.NewIncomingContext(ended, sent), fmt.Sprintf("192.0.2.%d:1", i))
		if err != nil || account.Name() != "default" {
			t.Fatalf("the login in a call that has ended: %v", err)
		}
	}
}
