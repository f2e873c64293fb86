package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// rewriteConfig atomically replaces the content of a file.
func rewriteConfig(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// hangUp sends SIGHUP, and waits until the log has that many lines with a text.
func (r *running) hangUp(t *testing.T, text string, lines int) {
	t.Helper()
	r.Process.Signal(syscall.SIGHUP)
	until(t, fmt.Sprintf("%d lines of the log have %q", lines, text),
		func() bool { return strings.Count(r.logged(), text) >= lines })
}

// wantConfig compares the value of CONFIG GET.
func wantConfig(t *testing.T, conn net.Conn, name, value string) {
	t.Helper()
	asks(t, conn, "CONFIG GET "+name+"\r\n",
		fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(name), name, len(value), value))
}

func TestHangupReloadsOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limitsrv.yaml")
	rewriteConfig(t, file, "max-clients: 50\nidle-timeout: 1m\nmax-args: 99\npassword: hunter2\n")
	r := serve(t, "--config", file, "--write-timeout", "7s")
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "AUTH hunter2\r\n", "+OK\r\n")
	wantConfig(t, conn, "max-clients", "50")
	wantConfig(t, conn, "config", file)

	// Options of the command line keep their values. Options that are not in the file get
	// their defaults, even after CONFIG SET. The log names options that need a restart.
	asks(t, conn, "CONFIG SET drain 3\r\n", "+OK\r\n")
	rewriteConfig(t, file,
		"max-clients: 60\nwrite-timeout: 1s\nmax-memory: 1gb\nmax-args: 98\nlog-level: debug\npassword: hunter3\n")
	r.hangUp(t, "options reloaded", 1)
	for name, value := range map[string]string{
		"max-clients": "60", "write-timeout": "7", "idle-timeout": "0", "max-memory": "1073741824", "drain": "10",
		"log-level": "DEBUG", "max-args": "99",
	} {
		wantConfig(t, conn, name, value)
	}
	for _, want := range []string{"max-clients=60", `need_restart="max-args password"`} {
		if !strings.Contains(r.logged(), want) {
			t.Errorf("no %s in the log\n%s", want, r.logged())
		}
	}

	// A file with a mistake changes nothing.
	rewriteConfig(t, file, "max-clients: 70\ndrain: soon\n")
	r.hangUp(t, file+":2: drain must be a duration", 1)
	rewriteConfig(t, file, "max-clients: 70\ndrain: -1s\n")
	r.hangUp(t, file+":2: --drain must be 0s or more", 1)
	os.Remove(file)
	r.hangUp(t, "no such file", 1)
	wantConfig(t, conn, "max-clients", "60")
	if strings.Contains(r.logged(), "hunter") {
		t.Errorf("the log has a password\n%s", r.logged())
	}
}

// Without a file a hangup changes nothing, not even options of CONFIG SET.
func TestHangupWithoutFile(t *testing.T) {
	r := serve(t)
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "CONFIG SET max-clients 50\r\n", "+OK\r\n")
	r.hangUp(t, "no --config", 1)
	r.hangUp(t, "no --config", 2)
	wantConfig(t, conn, "max-clients", "50")
	r.Process.Signal(syscall.SIGTERM)
	if code := r.exit(t); code != exitOK {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
}

// CONFIG SET changes the time limit of a shutdown.
func TestConfigSetDrain(t *testing.T) {
	r := serve(t, "--drain", "1h")
	asks(t, dial(t, "tcp", r.address), "CONFIG SET drain 0.2\r\n", "+OK\r\n")
	until(t, "the change is logged with its user", func() bool {
		return strings.Contains(r.logged(), `msg="settings changed" options="drain=0.2" user=default from=127.0.0.1:`)
	})
	connectSlowReader(t, r)
	r.Process.Signal(syscall.SIGTERM)
	if code := r.exit(t); code != exitOK || !strings.Contains(r.logged(), "stopped before every command was answered") {
		t.Errorf("exit %d, want 0 after 200ms\n%s", code, r.logged())
	}
}

func TestPing(t *testing.T) {
	r := serve(t, "--password", "hunter2", "--max-clients", "2")
	host, port, _ := net.SplitHostPort(r.address)
	for _, tt := range []struct {
		name     string
		settings []string
		args     []string
		code     int
	}{
		{"with its address", nil, []string{"--listen", r.address}, exitOK},
		{"with its environment", []string{"LIMITSRV_LISTEN=0.0.0.0:" + port, "LIMITSRV_UNPROTECTED=true"}, nil, exitOK},
		{"with its password", nil, []string{"--listen", r.address, "--password", "hunter2"}, exitOK},
		{"without a server", nil, []string{"--listen", freeAddressOf(t, host)}, exitFailure},
		{"with wrong options", nil, []string{"--listen", "nowhere"}, exitUsage},
	} {
		if out, log, code := runs(t, limitsrv(tt.settings, append([]string{"ping"}, tt.args...)...)); code != tt.code ||
			(code == exitOK) != (out == "serving\n") {
			t.Errorf("%s: exit %d, %q, %q, want %d", tt.name, code, out, log, tt.code)
		}
	}
	for range 2 {
		asks(t, dial(t, "tcp", r.address), "AUTH hunter2\r\n", "+OK\r\n")
	}
	if _, log, code := runs(t, limitsrv(nil, "ping", "--listen", r.address)); code != exitFailure ||
		!strings.Contains(log, "max number of clients") {
		t.Errorf("a server at --max-clients: exit %d, %q, want 1 and its error", code, log)
	}
}
