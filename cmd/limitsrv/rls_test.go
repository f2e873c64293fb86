package main

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

var rulesAddresses = regexp.MustCompile(`msg="rules listeners" rls=(\S+) rls_http=(\S+)`)

// TestRulesListeners asks a server by gRPC over a unix socket and by HTTP.
func TestRulesListeners(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "rls")
	a := serve(t, "--rls", "unix:"+socket, "--rls-http", "127.0.0.1:0")
	until(t, "the listeners for rules listen", func() bool { return rulesAddresses.MatchString(a.logged()) })
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	health, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(),
		&grpc_health_v1.HealthCheckRequest{Service: "ratelimit"})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("the health is %v, %v", health, err)
	}
	out, err := service.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), &service.RateLimitRequest{
		Domain: "unheard", Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: "k",
			Value: "v"}}}},
	})
	if err != nil || out.GetOverallCode() != service.RateLimitResponse_OK || len(out.GetStatuses()) != 1 {
		t.Errorf("the response is %v, %v", out, err)
	}
	at := "http://" + rulesAddresses.FindStringSubmatch(a.logged())[2]
	answer, err := http.Post(at+"/v1/check", "application/json",
		strings.NewReader(`{"domain":"unheard","attributes":{"k":"v"}}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("/v1/check returns %s", answer.Status)
	}
	a.end(t)
	if nc, err := net.Dial("unix", socket); err == nil {
		nc.Close()
		t.Error("a server that has stopped accepts connections")
	}
}

func TestRulesListenersOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no port", []string{"--rls", "127.0.0.1"}, "--rls must be HOST:PORT or unix:PATH"},
		{"open to the network", []string{"--rls", "0.0.0.0:0"}, "can be reached from other machines"},
		{"HTTP open to the network with --unprotected", []string{"--rls-http", ":0", "--unprotected"},
			"can be reached from other machines"},
		{"TLS without a certificate", []string{"--rls", "127.0.0.1:0", "--rls-tls"}, "--rls-tls needs --tls-cert"},
		{"TLS without a listener", []string{"--rls-tls"}, "give --rls or --rls-http"},
		{"headers without a listener", []string{"--rls-headers", "x"}, "give --rls or --rls-http"},
		{"metadata without a listener", []string{"--rls-metadata"}, "give --rls or --rls-http"},
	} {
		_, log, code := runs(t, limitsrv(nil, tt.args...))
		if code != exitUsage || !strings.Contains(log, tt.want) {
			t.Errorf("%s: exit %d, %q, want 2 and %q", tt.name, code, log, tt.want)
		}
	}
}
