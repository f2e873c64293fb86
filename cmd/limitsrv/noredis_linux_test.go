package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"limitsrv/internal/testing/testwait"
)

// An asker asks the server for a request of an address by rules, and reports whether the request is
// allowed.
type asker func(t *testing.T, address, ip string) bool

func askHTTP(t *testing.T, address, ip string) bool {
	t.Helper()
	return checkStatus(t, address, ip) == http.StatusOK
}

// checkStatus returns the status of /v1/check for an address.
func checkStatus(t *testing.T, address, ip string) int {
	t.Helper()
	answer, err := http.Post("http://"+address+"/v1/check", "application/json",
		strings.NewReader(fmt.Sprintf(`{"domain":"api","attributes":{"ip":%q}}`, ip)))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func askGRPC(t *testing.T, address, ip string) bool {
	t.Helper()
	conn := dialGRPC(t, address)
	out, err := service.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), &service.RateLimitRequest{
		Domain: "api",
		Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: "ip",
			Value: ip}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.GetOverallCode() == service.RateLimitResponse_OK
}

func dialGRPC(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestServersWithoutRedisPort starts servers without a listener for Redis clients, asks them by
// rules, changes the rules, and stops them while a request is in progress.
func TestServersWithoutRedisPort(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		asks []asker // by the order of addresses in the status
	}{
		{"gRPC", []string{"--rls", "127.0.0.1:0"}, []asker{askGRPC}},
		{"HTTP", []string{"--rls-http", "127.0.0.1:0"}, []asker{askHTTP}},
		{"gRPC and HTTP", []string{"--rls", "127.0.0.1:0", "--rls-http", "127.0.0.1:0"}, []asker{askGRPC, askHTTP}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			serveWithoutRedis(t, tt.args, tt.asks)
		})
	}
}

// TestClusterWithoutRedisPort asks each node of a cluster over HTTP. No node has an address for Redis
// clients, and two of the nodes forward to the leader.
func TestClusterWithoutRedisPort(t *testing.T) {
	testwait.Long(t)
	rules := t.TempDir()
	writeRules(t, rules, "2/h")
	rafts := []string{freeAddress(t), freeAddress(t), freeAddress(t)}
	var nodes []*running
	var probes []string
	for i, raft := range rafts {
		probes = append(probes, freeAddress(t))
		nodes = append(nodes, launchAt(t, "", "--data", t.TempDir(), "--raft", raft, "--peers", strings.Join(rafts, ","),
			"--rules", rules, "--rls-http", "127.0.0.1:0", "--admin", probes[i],
			"--election-timeout", testwait.Scaled(time.Second).String()))
	}
	for i, n := range nodes {
		pingsByAdmin(t, n, probes[i])
	}
	for i, n := range nodes {
		address := rulesAddresses.FindStringSubmatch(n.logged())[2]
		status := http.StatusServiceUnavailable // while a leader is elected
		until(t, "a leader decides", func() bool {
			status = checkStatus(t, address, "10.0.0.1")
			return status != http.StatusServiceUnavailable
		})
		if want := []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests}[i]; status != want {
			t.Errorf("request %d is answered with %d, want %d", i, status, want)
		}
	}
}

// logsNoPort is the first line of the log of a server without a listener for Redis clients.
var logsNoPort = regexp.MustCompile(`msg=listening .* addr="" tls_addr="" unixsocket=""`)

func serveWithoutRedis(t *testing.T, args []string, asks []asker) {
	rules := t.TempDir()
	writeRules(t, rules, "1/h")
	m, setting := newManager(t)
	probes := freeAddress(t)
	r := launchWith(t, []string{setting, "WATCHDOG_USEC=1000000"}, "",
		append(args, "--admin", probes, "--rules", rules)...)
	pingsByAdmin(t, r, probes)
	at := m.addresses(t)
	if len(at) != len(asks) || !logsNoPort.MatchString(r.logged()) {
		t.Fatalf("the service manager gets the addresses %q, want %d\n%s", at, len(asks), r.logged())
	}
	m.awaitWatchdog(t)
	for i, allowed := range asks {
		ip := fmt.Sprintf("10.0.0.%d", i)
		if !allowed(t, at[i], ip) || allowed(t, at[i], ip) {
			t.Errorf("%s: the first request must be allowed and the second denied", at[i])
		}
	}
	writeRules(t, rules, "1000/h")
	r.Process.Signal(syscall.SIGHUP)
	until(t, "the new rules hold", func() bool { return asks[0](t, at[0], "10.0.0.0") })
	for _, to := range at {
		_, log, code := runs(t, limitsrv(nil, "rules", "push", rules, "--to", to))
		if code != exitFailure || !strings.Contains(log, "give the address of --listen, --tls-listen or --unixsocket") {
			t.Errorf("rules push to %s: exit %d, %q", to, code, log)
		}
	}
	finish := inProgress(t, at[len(at)-1], strings.Contains(strings.Join(args, " "), "--rls-http"))
	r.Process.Signal(syscall.SIGTERM)
	r.log.Await(t, "shutting down")
	finish()
	if code := r.exit(t); code != exitOK {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
}

// writeRules replaces the rules in a directory, as Kubernetes does for a ConfigMap: the file is a
// link into ..data, a link to the directory of a version, and ..data is replaced.
func writeRules(t *testing.T, dir, limits string) {
	t.Helper()
	text := "domain: api\nrules: [{name: login, per: [ip], limits: " + limits + "}]\n"
	version, err := os.MkdirTemp(dir, "..")
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(version, "rules.yaml"), []byte(text), 0o600)
	link := filepath.Join(dir, "rules.yaml")
	if _, missing := os.Lstat(link); missing != nil {
		err = errors.Join(err, os.Symlink("..data/rules.yaml", link))
	}
	next := filepath.Join(dir, "..next")
	err = errors.Join(err, os.Symlink(filepath.Base(version), next), os.Rename(next, filepath.Join(dir, "..data")))
	if err != nil {
		t.Fatal(err)
	}
}

// pingsByAdmin waits until a server is ready, by its admin listener only.
func pingsByAdmin(t *testing.T, r *running, admin string) {
	t.Helper()
	for _, target := range []string{"http://" + admin, "--listen= --rls-http=127.0.0.1:0 --admin=" + admin} {
		for _, ping := range []struct{ args, want string }{
			{"ping --wait " + testwait.Scaled(wait).String() + " ", "ready\n"}, {"ping ", "serving\n"},
		} {
			out, log, code := runs(t, limitsrv(nil, strings.Fields(ping.args+target)...))
			if code != exitOK || out != ping.want || log != "" {
				t.Fatalf("%s%s: exit %d, %q, %q\n%s", ping.args, target, code, out, log, r.logged())
			}
		}
	}
}

// addresses waits until the server reports that it is ready, and returns the addresses in the
// report.
func (m manager) addresses(t *testing.T) []string {
	t.Helper()
	for {
		if status, ok := strings.CutPrefix(m.read(t), "READY=1\nSTATUS=serving at "); ok {
			return strings.Split(status, ", ")
		}
	}
}

// inProgress begins a request, and returns a function that checks its end.
func inProgress(t *testing.T, address string, overHTTP bool) (finish func()) {
	t.Helper()
	if !overHTTP {
		stream, err := grpc_health_v1.NewHealthClient(dialGRPC(t, address)).Watch(context.Background(),
			&grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if health, err := stream.Recv(); err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("the health is %v, %v", health, err)
		}
		return func() {
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			if !strings.Contains(err.Error(), "the server is shutting down") {
				t.Errorf("a watcher of the health ends with %v", err)
			}
		}
	}
	const body = `{"domain":"api","attributes":{"ip":"10.9.9.9"}}`
	conn := dial(t, "tcp", address)
	fmt.Fprintf(conn, "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the request begins with %q, %v", line, err)
	}
	in.ReadString('\n')
	return func() {
		io.WriteString(conn, body)
		if answer, err := http.ReadResponse(in, nil); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("a request in progress is answered with %v, %v", answer, err)
		}
	}
}
