package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

// A pingFake is a server that answers each INFO with the next of its texts, and then with the
// last text.
type pingFake struct {
	net.Listener
	asked chan struct{} // a value for each INFO
}

func newPingFake(t *testing.T, infos ...string) *pingFake {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f := &pingFake{l, make(chan struct{}, 1000)}
	go func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(conn).ReadString('\n')
			f.asked <- struct{}{}
			io.WriteString(conn, infos[min(i, len(infos)-1)])
			conn.Close()
		}
	}()
	return f
}

// bulk is a text as a reply.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func TestPingWaits(t *testing.T) {
	const forever = "24h" // so that a run does not end by the time
	loading := bulk("# Server\r\nready:0\r\nnot_ready:the state is being loaded\r\n")
	ready := bulk("# Server\r\nready:1\r\nnot_ready:\r\n")
	for _, tt := range []struct {
		name  string
		wait  string
		infos []string
		says  string // its output, or a part of its error
		asked int    // the least number of questions
	}{
		{"a server that is ready", forever, []string{ready}, "ready\n", 1},
		{"a server that is degraded", forever, []string{bulk("# Server\r\nready:1\r\nnot_ready:\r\ndegraded:disk full\r\n")},
			"ready, degraded: disk full\n", 1},
		{"a server that is asked once", "0s", []string{ready}, "ready\n", 1},
		{"a server that becomes ready", forever,
			[]string{loading, "-ERR max number of clients reached\r\n", loading, "", ready}, "ready\n", 5},
		{"a server that does not become ready", "120ms", []string{loading}, "is not ready: the state is being loaded\n", 2},
		{"a server that is not ready when it is asked once", "0s", []string{loading},
			"is not ready: the state is being loaded\n", 1},
		{"a server that wants a login", forever, []string{"-NOAUTH Authentication required.\r\n"}, "NOAUTH", 1},
		{"a server that refuses the login", forever, []string{"-WRONGPASS invalid username-password pair\r\n"}, "WRONGPASS",
			1},
		{"a server that refuses the user", forever, []string{"-NOPERM this user has no permissions\r\n"}, "NOPERM", 1},
		{"the gRPC of a server", forever, []string{"\x00\x00\x18\x04\x00"}, "no server that speaks the Redis protocol", 1},
		{"another server", forever, []string{bulk("# Server\r\nredis_version:7.2.4\r\n")}, "no line ready", 1},
	} {
		f := newPingFake(t, tt.infos...)
		out, log, code := runs(t, limitsrv(nil, "ping", "--wait", tt.wait, f.Addr().String()))
		if code == exitOK != strings.HasPrefix(tt.says, "ready") || !strings.Contains(out+log, tt.says) ||
			strings.Count(out+log, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, %q, want %q", tt.name, code, out, log, tt.says)
		}
		if len(f.asked) < tt.asked {
			t.Errorf("%s: it was asked %d times, want %d or more", tt.name, len(f.asked), tt.asked)
		}
	}
}

// The command line of ping is the server's, or has an address and the options of a connection.
func TestPingForms(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	ca := newAuthority(t)
	files, secure, overGRPC := newTLSFiles(t, ca), freeAddress(t), freeAddress(t)
	r := serve(t, append(files.tlsArgs(secure), "--password", "hunter2", "--unixsocket", socket, "--rls", overGRPC,
		"--rls-tls")...)
	plain := filepath.Join(t.TempDir(), "s")
	serve(t, "--rls", "unix:"+plain)
	password := []string{"LIMITSRV_PASSWORD=hunter2"}
	for _, tt := range []struct {
		name     string
		settings []string
		args     string
		code     int
	}{
		{"an address", password, "--wait 1m " + r.address, exitOK},
		{"an address, in another order", nil, r.address + " --password hunter2 --wait=1m", exitOK},
		{"a user", nil, "--wait 1m --user default --password hunter2 " + r.address, exitOK},
		{"a socket", password, "--wait 1m unix:" + socket, exitOK},
		{"TLS", password, "--wait 1m --tls --tls-ca " + files.name("ca") + " " + secure, exitOK},
		{"TLS without its CA", password, "--wait 1h --tls " + secure, exitFailure},
		{"TLS with a CA that is not there", password, "--wait 1h --tls --tls-ca nowhere " + secure, exitFailure},
		{"the server's options", nil, "--wait 1m --listen " + r.address + " --password hunter2", exitOK},
		{"the server's environment", append(password, "LIMITSRV_LISTEN="+r.address), "--wait 1m", exitOK},
		{"the server's TLS", password, "--wait 1m --listen= " + strings.Join(files.tlsArgs(secure), " "), exitOK},
		{"no login", nil, "--wait 1h " + r.address, exitFailure},
		{"a wrong login", nil, "--wait 1h --password wrong " + r.address, exitFailure},
		{"no login, without --wait", nil, r.address, exitOK},
		{"a wrong login, without --wait", nil, "--password wrong " + r.address, exitOK},
		{"gRPC over TLS", nil, "--wait 1m grpcs://" + overGRPC + " --tls-ca " + files.name("ca"), exitOK},
		{"gRPC over TLS, without --wait", nil, "--tls --tls-ca " + files.name("ca") + " grpc://" + overGRPC, exitOK},
		{"gRPC over TLS without its CA", nil, "--wait 1h grpcs://" + overGRPC, exitFailure},
		{"gRPC of the server's options", nil, "--wait 1m --listen= --rls-tls --password hunter2 --rls " + overGRPC + " " +
			strings.Join(files.tlsArgs("")[2:], " "), exitOK},
		{"gRPC at a socket", nil, "--wait 1m grpc://unix:" + plain, exitOK},
		{"gRPC at a socket of the server's options", nil, "--wait 1m --listen= --rls unix:" + plain, exitOK},
		{"no gRPC server", nil, "--wait 0s grpc://" + freeAddress(t), exitFailure},
		{"gRPC without an address", nil, "--wait 0s grpc://", exitUsage},
		{"an address without a port", nil, "localhost", exitUsage},
		{"an address of --admin without a port", nil, "http://localhost", exitUsage},
		{"an address without a port number", nil, "localhost:", exitUsage},
		{"a socket without a path", nil, "unix:", exitUsage},
		{"no server", nil, "--wait 0s " + freeAddress(t), exitFailure},
		{"no server, without --wait", nil, freeAddress(t), exitFailure},
		{"a time without a unit", nil, "--wait 5 " + r.address, exitUsage},
		{"a negative time", nil, "--wait=-5s " + r.address, exitUsage},
		{"no time", nil, r.address + " --wait", exitUsage},
		{"no time, with the server's options", nil, "--listen " + r.address + " --wait", exitUsage},
		{"two addresses", nil, r.address + " " + secure, exitUsage},
		{"an unknown option", nil, "--cacert x " + r.address, exitUsage},
		{"options of TLS without --tls", nil, "--tls-ca x " + r.address, exitUsage},
		{"a user without a password", nil, "--user u " + r.address, exitUsage},
		{"an address and the server's options", nil, r.address + " --listen " + r.address, exitUsage},
	} {
		done := "serving\n"
		if strings.Contains(tt.args, "--wait") {
			done = "ready\n"
		}
		out, log, code := runs(t, limitsrv(tt.settings, append([]string{"ping"}, strings.Fields(tt.args)...)...))
		if code != tt.code || (code == exitOK) != (out == done) || (code == exitOK) != (log == "") {
			t.Errorf("%s: exit %d, %q, %q, want %d", tt.name, code, out, log, tt.code)
		}
	}
}

// TestPingHealth asks gRPC servers for their health.
func TestPingHealth(t *testing.T) {
	for _, tt := range []struct {
		name string
		wait string
		says string // its output, or the end of its error
		// health changes after it was asked a first time; UNKNOWN: there is no health service
		first, then grpc_health_v1.HealthCheckResponse_ServingStatus
	}{
		{"a server that is ready", "24h", "ready\n", healthy, healthy},
		{"a server that becomes ready", "24h", "ready\n", sick, healthy},
		{"a server that is not ready", "0s", "its health is NOT_SERVING; --admin has the reasons\n", sick, sick},
		{"a server without health", "24h", "no health service: the address must be --rls of a server\n", 0, 0},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		service := health.NewServer()
		g := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, q any, _ *grpc.UnaryServerInfo,
			handle grpc.UnaryHandler) (any, error) {
			defer service.SetServingStatus("", tt.then)
			return handle(ctx, q)
		}))
		if tt.first != 0 {
			service.SetServingStatus("", tt.first)
			grpc_health_v1.RegisterHealthServer(g, service)
		}
		go g.Serve(l)
		out, log, code := runs(t, limitsrv(nil, "ping", "--wait", tt.wait, "grpc://"+l.Addr().String()))
		g.Stop()
		if code == exitOK != (tt.says == "ready\n") || !strings.HasSuffix(out+log, tt.says) {
			t.Errorf("%s: exit %d, %q, %q, want %q", tt.name, code, out, log, tt.says)
		}
	}
}

const (
	healthy = grpc_health_v1.HealthCheckResponse_SERVING
	sick    = grpc_health_v1.HealthCheckResponse_NOT_SERVING
)

// pingReady waits until a server is ready.
func pingReady(t *testing.T, address string) {
	t.Helper()
	if out, log, code := runs(t,
		limitsrv(nil, "ping", "--wait", testwait.Scaled(wait).String(), address)); code != exitOK || out != "ready\n" {
		t.Fatalf("%s: exit %d, %q, %q", address, code, out, log)
	}
}

// TestReadyNodes: nodes that found a cluster answer all commands as soon as they are ready, and
// when a node that lost its disk is ready, the next node can be stopped at once. It takes as
// long as a cluster for that: some eight seconds.
func TestReadyNodes(t *testing.T) {
	testwait.Long(t)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("domain: api\nrules: [{name: login, limits: 100/h}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rafts := []string{freeAddress(t), freeAddress(t), freeAddress(t)}
	var nodes []*running
	for _, raft := range rafts {
		nodes = append(nodes, launch(t, "--data", t.TempDir(), "--raft", raft, "--peers", strings.Join(rafts, ","),
			"--rules", rules, "--election-timeout", testwait.Scaled(time.Second).String()))
	}
	for i, n := range nodes {
		pingReady(t, n.address)
		w := wired(t, n.address)
		for _, command := range []string{fmt.Sprintf("SET key:%d value", i), "EVAL return{1} 0",
			"RL.ALL TOKEN a 10 1 1 FIXED b 10 1h 1"} {
			reply, err := w.whenLed(command)
			if _, failed := reply.(respclient.Error); failed || err != nil {
				t.Errorf("node %d is ready, and answers %s with %v, %v", i, command, reply, err)
			}
		}
		reply, err := w.whenLed("RL.CHECK api path /login")
		if answer, _ := reply.([]any); len(answer) != 7 || answer[5] != "login/slide-1h" {
			t.Errorf("node %d is ready, and decides without the rules: %v, %v", i, reply, err)
		}
	}
	lost := 0
	if wired(t, nodes[lost].address).info(t, "role") == "master" {
		lost = 1
	}
	nodes[lost].Process.Kill()
	<-nodes[lost].ended
	nodes[lost] = launchAt(t, nodes[lost].address, "--data", t.TempDir(), "--raft", rafts[lost], "--join",
		strings.Join(rafts, ","),
		"--election-timeout", testwait.Scaled(time.Second).String())
	pingReady(t, nodes[lost].address)
	w := wired(t, nodes[lost].address)
	for i, n := range nodes {
		if i != lost && wired(t, n.address).info(t, "role") == "master" {
			n.Process.Kill()
			<-n.ended
		}
	}
	if reply, err := w.whenLed("SET key:3 value"); reply != "OK" || err != nil {
		t.Errorf("a replaced node was ready when the leader was killed, and answers %v, %v", reply, err)
	}
}
