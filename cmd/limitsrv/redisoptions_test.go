package main

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// Errors about options of redis-server name the equivalent. An error about a mistyped tool or command
// names the nearest.
func TestRedisOptions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--port", "6380"}, "unknown flag --port; for redis-server's port use --listen 127.0.0.1:PORT"},
		{[]string{"-p", "6380"}, "--listen 127.0.0.1:PORT"},
		{[]string{"--bind", "0.0.0.0"}, "--listen ADDRESS:PORT"},
		{[]string{"--requirepass=x"}, "use --password"},
		{[]string{"--dir", "/tmp"}, "use --data DIR"},
		{[]string{"--maxmemory", "1gb"}, "use --max-memory"},
		{[]string{"redis.conf"},
			"unexpected argument redis.conf; give a configuration file, which is YAML, as --config FILE"},
		{[]string{"pign"}, "unexpected argument pign; the tools are check, "},
		{[]string{"rule", "check", "x.yaml"}, "unexpected argument rule; did you mean rules?"},
		{[]string{"backup"}, "unexpected argument backup; the tools are check, completion, config, help, "},
		{[]string{"help", "rl.tokn"}, "no tool or command rl.tokn; did you mean RL.TOKEN?"},
		{[]string{"--listen"}, "a value must follow --listen, got the end of the line"},
	} {
		_, log, code := runs(t, limitsrv(nil, tt.args...))
		if code != exitUsage || strings.Count(log, "\n") != 1 || !strings.Contains(log, tt.want) {
			t.Errorf("%v: exit %d, %q, want 2 and %q in it", tt.args, code, log, tt.want)
		}
	}
}

// The error about a port in use suggests another port.
func TestPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	next := net.JoinHostPort("127.0.0.1", strconv.Itoa(taken.Addr().(*net.TCPAddr).Port+1))
	_, log, code := runs(t, limitsrv(nil, "--listen", taken.Addr().String()))
	if want := "address already in use: use another port, --listen " + next +
		", or stop the server that uses it"; code != exitFailure || !strings.Contains(log, want) {
		t.Errorf("exit %d, %q, want 1 and %q in it", code, log, want)
	}
}

// Common first arguments are tools or flags.
func TestHelpAndVersion(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "limitsrv " + version},
		{[]string{"-v"}, "limitsrv " + version},
		{[]string{"help"}, "Usage: limitsrv [flags]"},
		{[]string{"help", "check"}, "Usage: limitsrv check <dir>"},
		{[]string{"help", "ping"}, "Usage: limitsrv ping"},
		{[]string{"help", "rl.token"}, "  RL.TOKEN key capacity rate"},
		{[]string{"help", "client"}, "  CLIENT "},
	} {
		out, log, code := runs(t, limitsrv(nil, tt.args...))
		if code != exitOK || log != "" || !strings.HasPrefix(out, tt.want) {
			t.Errorf("%v: exit %d, %.200q, %q, want 0 and %q", tt.args, code, out, log, tt.want)
		}
	}
	if _, log, code := runs(t, limitsrv(nil, "help", "nonsense")); code != exitUsage ||
		!strings.Contains(log, "nonsense") {
		t.Errorf("exit %d, %q, want 2 and the word", code, log)
	}
}
