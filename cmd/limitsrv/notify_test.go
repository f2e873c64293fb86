package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// A manager is a service manager: the socket to which a server sends its states.
type manager struct{ *net.UnixConn }

// newManager listens, and returns the environment setting for the server.
func newManager(t *testing.T) (m manager, setting string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return manager{conn}, "NOTIFY_SOCKET=" + name
}

// read reads a message.
func (m manager) read(t *testing.T) string {
	t.Helper()
	message := make([]byte, 1024)
	m.SetReadDeadline(testwait.Soon(wait))
	n, err := m.Read(message)
	if err != nil {
		t.Fatalf("no message to the manager: %v", err)
	}
	return string(message[:n])
}

// wants reads a message and compares it with a pattern.
func (m manager) wants(t *testing.T, pattern string) {
	t.Helper()
	if got := m.read(t); !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got) {
		t.Fatalf("message %q, want %q", got, pattern)
	}
}

// awaitWatchdog reads until a keep-alive of the watchdog.
func (m manager) awaitWatchdog(t *testing.T) {
	t.Helper()
	for m.read(t) != "WATCHDOG=1" {
	}
}

func TestServiceManagerNotifications(t *testing.T) {
	m, setting := newManager(t)
	file := filepath.Join(t.TempDir(), "limitsrv.yaml")
	rewriteConfig(t, file, "")
	address := freeAddress(t)
	r := &running{Cmd: limitsrv([]string{setting}, "--config", file, "--listen", address, "--data", t.TempDir())}
	r.Stderr = &r.log
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	defer r.Process.Kill()
	m.wants(t, "STATUS=loading")
	m.wants(t, "READY=1\nSTATUS=serving at "+regexp.QuoteMeta(address))
	for range 2 {
		r.Process.Signal(syscall.SIGHUP)
		m.wants(t, `RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*\nSTATUS=.*`)
		m.wants(t, "READY=1\nSTATUS=serving.*")
	}
	r.Process.Signal(syscall.SIGTERM)
	m.wants(t, "STOPPING=1\nSTATUS=.*")
	if err := r.Wait(); err != nil {
		t.Errorf("%v\n%s", err, r.logged())
	}
}

// A server with a TLS listener only checks itself there, even while its certificate files
// are invalid.
func TestWatchdogOverTLS(t *testing.T) {
	m, setting := newManager(t)
	files := newTLSFiles(t, newAuthority(t))
	r := &running{Cmd: limitsrv([]string{setting, "WATCHDOG_USEC=1000000"},
		append(files.tlsArgs(freeAddress(t)), "--listen", "")...)}
	r.Stderr = &r.log
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	defer r.Wait()
	defer r.Process.Kill()
	m.wants(t, "STATUS=loading")
	m.awaitWatchdog(t)
	files.write(t, "cert", []byte("nothing"))
	until(t, "the invalid file is reported", func() bool { return strings.Contains(r.logged(), "can't be used") })
	m.awaitWatchdog(t)
	m.awaitWatchdog(t)
	if strings.Contains(r.logged(), "the server does not answer") {
		t.Error(r.logged())
	}
}

// The watchdog gets keep-alives while the server answers, even at --max-clients.
func TestWatchdogIsFed(t *testing.T) {
	m, setting := newManager(t)
	address := freeAddress(t)
	r := &running{Cmd: limitsrv([]string{setting, "WATCHDOG_USEC=1000000"}, "--listen", address, "--max-clients", "1")}
	r.Stderr = &r.log
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	defer r.Wait()
	defer r.Process.Kill()
	m.awaitWatchdog(t)
	m.awaitWatchdog(t)
	until(t, "a client takes the only connection", func() bool {
		conn, reply := dial(t, "tcp", address), make([]byte, 1)
		io.WriteString(conn, "PING\r\n") // the watchdog's connection may still be open
		conn.Read(reply)
		return string(reply) == "+"
	})
	m.wants(t, "WATCHDOG=1")
	m.wants(t, "WATCHDOG=1")
}

// The watchdog gets no keep-alives while the server does not answer.
func TestWatchdogIsNotFed(t *testing.T) {
	m, setting := newManager(t)
	name, value, _ := strings.Cut(setting, "=")
	t.Setenv(name, value)
	t.Setenv("WATCHDOG_USEC", "20000")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	n := &node{log: slog.New(slog.DiscardHandler)}
	n.feedWatchdog(ctx, func(time.Duration) error {
		asked++
		if asked == 4 {
			cancel()
		}
		if asked == 3 {
			return nil
		}
		return errors.New("no answer")
	})
	n.notify("the end")
	m.wants(t, "WATCHDOG=1")
	m.wants(t, "the end")
}
