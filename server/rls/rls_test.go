package rls

import (
	"bytes"
	"context"
	"encoding/base64"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"limitsrv/commands/auth"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/server/rls/envoy"
)

// testTimeout is the time that a test waits for an event on an idle machine.
const testTimeout = 30 * time.Second

// A decider answers by check; nil: with an hour's limit of 3, with 2 remaining.
type decider struct {
	failures [2]atomic.Int64 // by session.Protocol
	check    atomic.Pointer[func(ctx context.Context, c session.Call, q *checks.Request) (*checks.Answer, error)]
}

func (d *decider) CountFailure(by session.Protocol) { d.failures[by].Add(1) }

func (d *decider) set(check func(ctx context.Context, c session.Call, q *checks.Request) (*checks.Answer, error)) {
	d.check.Store(&check)
}

func (d *decider) Check(ctx context.Context, c session.Call, q *checks.Request, answer func(*checks.Answer)) error {
	a := answered(true)
	if check := d.check.Load(); check != nil {
		var err error
		if a, err = (*check)(ctx, c, q); err != nil {
			return err
		}
	}
	answer(a)
	return nil
}

// Settle answers as if the line in c.Args was done.
func (d *decider) Settle(_ context.Context, c session.Call) (session.Settled, error) {
	return session.Settled{Known: true, Done: true, State: string(bytes.Join(c.Args, []byte(" ")))}, nil
}

func (d *decider) Domain(name string) *rules.Domain {
	return map[string]*rules.Domain{
		"api": {Name: "api", HTTP: []source.HeaderAttribute{
			{Key: "ip", Header: "X-Forwarded-For", Index: -1}, {Key: "path", Header: "X-Forwarded-Uri"},
			{Key: "api_key", Header: "X-Api-Key"},
		}},
		"silent": {Name: "silent"},
	}[name]
}

var hourly = &rules.Limit{
	Params: engine.Params{Alg: engine.Fixed, Limit: 3, Period: int64(time.Hour)}, Quota: 3, Window: int64(time.Hour),
	Name: "path/fixed-1h", Rule: &rules.Rule{Name: "path"},
}

// answered returns the answer of a limit.
func answered(allowed bool) *checks.Answer {
	row := checks.Row{Allowed: allowed, Limit: 3, Remaining: 2, ResetMillis: 1_799_001, Name: hourly.Name}
	reason := checks.OK
	if !allowed {
		row.Remaining, row.WaitMillis, reason = 0, 1_500, checks.Limited
	}
	return &checks.Answer{
		Row: row, Reason: reason, Rows: []checks.Row{row}, Met: []checks.Met{{Limit: hourly, Named: hourly, Rule: hourly.Rule,
			Guard: -1}}, Descriptors: []rules.Verdict{rules.Limited},
	}
}

// A rig is a server under test.
type rig struct {
	*Server
	t       *testing.T
	decider decider
	log     testwait.Log
}

// start starts a server on free ports until the test ends. password is the default user's;
// empty: no password.
func start(t *testing.T, password string, change func(*Config)) *rig {
	t.Helper()
	f := &rig{t: t}
	cfg := Config{
		GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Decider: &f.decider, Logger: f.log.Logger(),
		Logins:  auth.New(auth.Config{Password: password, Log: f.log.Logger()}),
		Options: envoy.Options{Now: func() engine.Instant { return 1 }},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if f.Server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		f.Serve()
		close(served)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Scaled(testTimeout))
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v\n%s", err, f.log.String())
		}
		<-served
	})
	return f
}

// dial returns a connection to the gRPC listener until the test ends.
func (f *rig) dial(options ...grpc.DialOption) *grpc.ClientConn {
	f.t.Helper()
	target := f.GRPCAddr().String()
	if f.GRPCAddr().Network() == "unix" {
		target = "unix:" + target
	}
	if len(options) == 0 {
		options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	return conn
}

// envoy returns a client of the gRPC listener.
func (f *rig) envoy() service.RateLimitServiceClient {
	return service.NewRateLimitServiceClient(f.dial())
}

// within returns a context of a call.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Scaled(testTimeout))
	t.Cleanup(cancel)
	return ctx
}

// basic adds a name and a password to a call.
func basic(ctx context.Context, name, password string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
}

// asks returns a request of a domain with an entry.
func asks(domain, key, value string) *service.RateLimitRequest {
	return &service.RateLimitRequest{Domain: domain, Descriptors: []*common.RateLimitDescriptor{{
		Entries: []*common.RateLimitDescriptor_Entry{{Key: key, Value: value}},
	}}}
}

// hasLogged reports whether the log has a text.
func (f *rig) hasLogged(text string) bool { return strings.Contains(f.log.String(), text) }

// countedBy counts the connections that a listener accepted.
type countedBy struct {
	net.Listener
	n *atomic.Int64
}

func (l countedBy) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
	}
	return nc, err
}
