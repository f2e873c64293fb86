package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/engine"
	"limitsrv/internal/testing/freeport"
	"limitsrv/internal/testing/testwait"
)

// asServer in the environment makes the test binary run as the server, so that tests
// use a separate process, under the race detector if the test is.
const asServer = "TEST_BINARY_AS_LIMITSRV"

func TestMain(m *testing.M) {
	if setting := os.Getenv(asGateway); setting != "" {
		runGateway(setting)
		os.Exit(0)
	}
	if os.Getenv(asServer) != "" {
		if file := os.Getenv(hangFile); file != "" {
			hangWhileExists(file)
		}
		if how := os.Getenv(poison); how != "" {
			poisonCalls(how)
		}
		if ahead := os.Getenv(clockAhead); ahead != "" {
			setClock(ahead)
		}
		main()
	}
	os.Exit(m.Run())
}

// clockAhead in the environment of a node of a cluster is the duration by which its wall clock is ahead.
const clockAhead = "TEST_BINARY_CLOCK_AHEAD"

// setClock makes the wall clock of this process wrong.
func setClock(ahead string) {
	by, err := time.ParseDuration(ahead)
	if err != nil {
		panic(err)
	}
	state.Wall = func() engine.Instant { return engine.Instant(time.Now().Add(by).UnixNano()) }
}

// wait bounds the wait for an event on an idle machine.
const wait = 30 * time.Second

// limitsrv returns the server with args, not started. Its environment consists of
// settings, NAME=VALUE, and no variables of the user.
func limitsrv(settings []string, args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], args...)
	command.Env = append([]string{asServer + "=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}, settings...)
	return command
}

// runs runs a server that exits at once, and returns its output.
func runs(t *testing.T, command *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(testwait.Scaled(wait), func() { command.Process.Kill() }).Stop()
	command.Wait()
	return out.String(), log.String(), command.ProcessState.ExitCode()
}

// A running is a server process.
type running struct {
	*exec.Cmd
	address string
	log     testwait.Log
	ended   chan struct{}
}

// portTries is the number of ports that serve tries. Another test may take a port between
// the search for a free port and the start of the server.
const portTries = 5

// serve starts the server on a free port, with args, and waits until it listens.
func serve(t *testing.T, args ...string) *running {
	t.Helper()
	for try := 1; ; try++ {
		r := launch(t, args...)
		until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") || r.isOver() })
		switch {
		case !r.isOver():
			return r
		case try == portTries || !strings.Contains(r.logged(), "address already in use"):
			t.Fatalf("the server has ended\n%s", r.logged())
		}
	}
}

// launch starts the server on a free port, with args.
func launch(t *testing.T, args ...string) *running {
	t.Helper()
	return launchAt(t, freeAddress(t), args...)
}

// launchAt starts the server at an address, with args.
func launchAt(t *testing.T, address string, args ...string) *running {
	t.Helper()
	return launchWith(t, nil, address, args...)
}

// launchWith is launchAt with settings of limitsrv.
func launchWith(t *testing.T, settings []string, address string, args ...string) *running {
	t.Helper()
	r := &running{
		Cmd:     limitsrv(settings, append([]string{"--listen", address}, args...)...),
		address: address,
		ended:   make(chan struct{}),
	}
	r.Stderr = &r.log
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() {
		r.Process.Kill()
		<-r.ended
	})
	return r
}

// isOver reports whether the server has ended.
func (r *running) isOver() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

func (r *running) logged() string { return r.log.String() }

// exit waits for the end of the server and returns its exit code.
func (r *running) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-r.ended:
		return r.ProcessState.ExitCode()
	case <-time.After(testwait.Scaled(wait)):
		t.Fatalf("the server does not end\n%s", r.logged())
		return -1
	}
}

// until waits for an event.
func until(t *testing.T, event string, happens func() bool) {
	t.Helper()
	testwait.Until(t, wait, event, happens)
}

// freeAddress returns a currently unused address of 127.0.0.1.
func freeAddress(t *testing.T) string {
	t.Helper()
	return freeAddressOf(t, "127.0.0.1")
}

// freeAddressOf returns a currently unused address of host.
func freeAddressOf(t *testing.T, host string) string {
	t.Helper()
	address, err := freeport.Address(host)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// dial connects for the duration of the test.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(testwait.Soon(wait))
	t.Cleanup(func() { conn.Close() })
	return conn
}

// asks sends inline commands and compares the reply bytes.
func asks(t *testing.T, conn net.Conn, commands, want string) {
	t.Helper()
	if _, err := io.WriteString(conn, commands); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	n, err := io.ReadFull(conn, got)
	if string(got[:n]) != want {
		t.Errorf("reply to %q = %q, %v, want %q", commands, got[:n], err, want)
	}
}

func TestHelpHasExamplesAndOptions(t *testing.T) {
	out, log, code := runs(t, limitsrv(nil, "--help"))
	if code != exitOK || log != "" {
		t.Errorf("exit %d, stderr %q, want 0 and nothing", code, log)
	}
	for _, want := range []string{
		"limitsrv ping --wait 5s", "redis-cli RL.TOKEN user:42 10 1/m", "--max-memory 1gb", // the examples
		"--listen", "$LIMITSRV_LISTEN", "127.0.0.1:6379", "--on-full", "refuse",
		"RL.TOKEN key capacity rate", "RL.SLIDE key limit window", "--help-commands",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestHelpCommandsShowsAll(t *testing.T) {
	out, _, code := runs(t, limitsrv(nil, "--help-commands"))
	if code != exitOK {
		t.Errorf("exit %d, want 0", code)
	}
	for _, want := range []string{"RL.TOKEN key capacity rate", "token bucket", "CL.THROTTLE", "PING", "CONFIG"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestVersion(t *testing.T) {
	out, _, code := runs(t, limitsrv(nil, "--version"))
	if code != exitOK || !strings.HasPrefix(out, "limitsrv "+version) {
		t.Errorf("exit %d, %q, want 0 and the version", code, out)
	}
}

func TestToolsHaveHelp(t *testing.T) {
	for _, tool := range tools() {
		for _, flag := range []string{"--help", "-h"} {
			out, log, code := runs(t, limitsrv(nil, tool.name, flag))
			if code != exitOK || log != "" || !strings.HasPrefix(strings.ToLower(out), "usage: limitsrv "+tool.name) {
				t.Errorf("%s %s: exit %d, %q, %q, want 0 and its usage", tool.name, flag, code, out, log)
			}
		}
	}
}

func TestWrongOptionsAreOneLineAndExit2(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings []string
		args     []string
		want     string
	}{
		{"an unknown option", nil, []string{"--nonsense"}, "--nonsense"},
		{"an argument", nil, []string{"surplus"}, "surplus"},
		{"no such policy", nil, []string{"--on-full", "drop"}, "refuse"},
		{"no such mode", nil, []string{"--cluster-mode", "on"}, "emulated"},
		{"no such level", nil, []string{"--log-level", "loud"},
			`--log-level: must be one of: debug, info, warn, error, got "loud"`},
		{"no such format", nil, []string{"--log-format", "xml"}, "text"},
		{"a malformed size", nil, []string{"--max-memory", "much"}, `such as 1000, 64kb, 256mb or 2gb, got "much"`},
		{"a malformed duration", nil, []string{"--drain", "soon"}, "--drain"},
		{"a negative duration", nil, []string{"--drain=-1s"}, "--drain must be 0s or more, got -1s"},
		{"no clients", nil, []string{"--max-clients", "0"}, "--max-clients must be 1 to 1000000, got 0"},
		{"too many threads", nil, []string{"--io-threads", "257"}, "--io-threads must be -1 to 256, got 257"},
		{"no listener", nil, []string{"--listen", ""}, "give --listen, --tls-listen or --unixsocket"},
		{"no listener for decisions", []string{"LIMITSRV_LISTEN="}, []string{"--admin", "127.0.0.1:0"}, "or --rls-http"},
		{"slots without a port", nil, []string{"--listen", "", "--rls", "127.0.0.1:0", "--cluster-mode", "on", "--raft",
			"127.0.0.1:1", "--data", "d", "--join", "127.0.0.1:2"}, "or --advertise HOST:PORT"},
		{"no port", nil, []string{"--listen", "127.0.0.1"}, `HOST:PORT`},
		{"open to the network", nil, []string{"--listen", "0.0.0.0:0"}, "--unprotected"},
		{"open to the network by IPv6", nil, []string{"--listen", "[::]:0"}, "--unprotected"},
		{"open to the network by default", nil, []string{"--listen", ":0"}, "--unprotected"},
		{"a node without a cluster", nil, []string{"--raft", "127.0.0.1:1", "--data", "/nowhere/d"}, "--raft needs --peers"},
		{"a node open to the network", nil, []string{"--raft", "10.0.0.1:1", "--data", "d", "--join", "10.0.0.2:1"},
			"give --cluster-secret-file, --cluster-secret or --raft-tls"},
		{"a node that listens to the network", nil,
			[]string{"--raft", "127.0.0.1:1", "--raft-bind", ":1", "--data", "d", "--join", "10.0.0.2:1"}, "--unprotected"},
		{"a password and open links", nil, []string{"--raft", "127.0.0.1:1", "--data", "d", "--join", "127.0.0.1:2",
			"--password", "x"}, "--cluster-secret-file, --cluster-secret or --raft-tls-cert"},
		{"users and open links", nil, []string{"--raft", "127.0.0.1:1", "--data", "d", "--join", "127.0.0.1:2", "--users",
			"f"}, "--cluster-secret-file, --cluster-secret or --raft-tls-cert"},
		{"a password and links that are open on purpose", nil, []string{"--raft", "127.0.0.1:1", "--data", "d", "--join",
			"127.0.0.1:2", "--password", "x", "--unprotected"}, "--cluster-secret-file, --cluster-secret or --raft-tls-cert"},
		{"a short secret", []string{"LIMITSRV_CLUSTER_SECRET=hunter2"},
			[]string{"--raft", "127.0.0.1:1", "--data", "d", "--join", "10.0.0.2:1"}, "at least 16 bytes"},
		{"a size of zero", nil, []string{"--max-args", "0"}, "--max-args must be 1 to"},
		{"a wrong setting", []string{"LIMITSRV_MAX_CLIENTS=many"}, nil, "many"},
		{"a wrong setting of two words", []string{"LIMITSRV_LISTEN=0.0.0.0:0"}, nil, "--unprotected"},
	} {
		out, log, code := runs(t, limitsrv(tt.settings, tt.args...))
		if code != exitUsage || out != "" {
			t.Errorf("%s: exit %d, stdout %q, want 2 and nothing", tt.name, code, out)
		}
		if strings.Count(log, "\n") != 1 || !strings.HasPrefix(log, "limitsrv: ") || !strings.Contains(log, tt.want) {
			t.Errorf("%s: stderr %q, want one line with %q", tt.name, log, tt.want)
		}
	}
}

func TestPortInUseIsOneLineAndExit1(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	out, log, code := runs(t, limitsrv(nil, "--listen", listener.Addr().String()))
	if code != exitFailure || out != "" {
		t.Errorf("exit %d, stdout %q, want 1 and nothing", code, out)
	}
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "address already in use") {
		t.Errorf("stderr %q, want one line that says so", log)
	}
}

func TestEnvironmentIsTheCommandLine(t *testing.T) {
	address := freeAddress(t)
	command := limitsrv([]string{"LIMITSRV_LISTEN=" + address, "LIMITSRV_PASSWORD=secret", "LIMITSRV_LOG_FORMAT=json"})
	log, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Wait()
	defer command.Process.Kill()
	line, err := bufio.NewReader(log).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "{") || !strings.Contains(line, address) ||
		strings.Contains(line, "secret") {
		t.Errorf("the first line of the log is %q, %v, want JSON with the address, without the password", line, err)
	}
	conn := dial(t, "tcp", address)
	asks(t, conn, "PING\r\n", "-NOAUTH Authentication required.\r\n")
	asks(t, conn, "AUTH secret\r\nPING\r\n", "+OK\r\n+PONG\r\n")
}

func TestSignalDrains(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		r := serve(t, "--drain", "5s")
		idle := dial(t, "tcp", r.address)
		asks(t, idle, "PING\r\n", "+PONG\r\n")
		busy := dial(t, "tcp", r.address)
		const pipelined = 20_000
		go io.WriteString(busy, strings.Repeat("PING\r\n", pipelined))
		asks(t, busy, "", "+PONG\r\n") // the server has begun the pipeline
		begin := time.Now()
		r.Process.Signal(signal)
		rest, err := io.ReadAll(busy)
		if n := len(rest) / len("+PONG\r\n"); err != nil || n*len("+PONG\r\n") != len(rest) {
			t.Errorf("%v: the connection ended with %q, %v, after %d replies", signal, rest[max(0, len(rest)-20):], err, n)
		}
		if code := r.exit(t); code != exitOK {
			t.Errorf("%v: exit %d, want 0\n%s", signal, code, r.logged())
		}
		if took := time.Since(begin); took > testwait.Scaled(6*time.Second) {
			t.Errorf("%v: it took %v, want at most --drain", signal, took)
		}
		for _, want := range []string{"listening", r.address, "shutting down", "stopped"} {
			if !strings.Contains(r.logged(), want) {
				t.Errorf("%v: no %q in the log\n%s", signal, want, r.logged())
			}
		}
	}
}

// connectSlowReader connects a client that requests much and reads nothing.
func connectSlowReader(t *testing.T, r *running) {
	t.Helper()
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "PING\r\n", "+PONG\r\n")
	io.WriteString(conn, strings.Repeat("COMMAND DOCS\r\n", 2000))
	time.Sleep(300 * time.Millisecond) // until the socket buffers are full
}

func TestDrainIsBounded(t *testing.T) {
	r := serve(t, "--drain", "500ms")
	connectSlowReader(t, r)
	begin := time.Now()
	r.Process.Signal(syscall.SIGTERM)
	code, took := r.exit(t), time.Since(begin)
	if code != exitOK || took < 400*time.Millisecond || took > testwait.Scaled(5*time.Second) {
		t.Errorf("exit %d after %v, want 0 after --drain\n%s", code, took, r.logged())
	}
	if !strings.Contains(r.logged(), "stopped before every command was answered") {
		t.Errorf("the log does not report a closed connection\n%s", r.logged())
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	r := serve(t, "--drain", "1m")
	connectSlowReader(t, r)
	r.Process.Signal(syscall.SIGTERM)
	r.log.Await(t, "shutting down") // two waiting signals count once
	time.Sleep(200 * time.Millisecond)
	select {
	case <-r.ended:
		t.Fatalf("it ended before the second signal\n%s", r.logged())
	default:
	}
	r.Process.Signal(syscall.SIGTERM)
	if code := r.exit(t); code != exitFailure || !strings.Contains(r.logged(), "a second signal") {
		t.Errorf("exit %d, want 1\n%s", code, r.logged())
	}
}

func TestShutdownCommandEndsIt(t *testing.T) {
	r := serve(t)
	io.WriteString(dial(t, "tcp", r.address), "SHUTDOWN\r\n")
	if code := r.exit(t); code != exitOK {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	r := serve(t, "--unixsocket", path)
	asks(t, dial(t, "unix", path), "PING\r\n", "+PONG\r\n")
	r.Process.Signal(syscall.SIGTERM)
	if code := r.exit(t); code != exitOK {
		t.Errorf("exit %d, want 0\n%s", code, r.logged())
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestTestClockStandsStill(t *testing.T) {
	r := serve(t, "--test-clock")
	conn := dial(t, "tcp", r.address)
	asks(t, conn, "RL.TOKEN k 1 1\r\n", "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
	time.Sleep(20 * time.Millisecond)
	asks(t, conn, "RL.TOKEN k 1 1\r\n", "*5\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n")
	asks(t, conn, "DEBUG ADVANCE-TIME 1s\r\nRL.TOKEN k 1 1\r\n", "+OK\r\n*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
}

func TestSweepingRemovesExpiredKeys(t *testing.T) {
	r := serve(t)
	conn := dial(t, "tcp", r.address)
	const keys = 1000
	var commands strings.Builder
	for i := range keys {
		fmt.Fprintf(&commands, "RL.TOKEN k%d 1 1000\r\n", i)
	}
	asks(t, conn, commands.String(), strings.Repeat("*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1\r\n", keys))
	testwait.Retry(t, wait, func() error {
		io.WriteString(conn, "DBSIZE\r\n")
		line := make([]byte, 32)
		n, err := conn.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		if string(line[:n]) != ":0\r\n" {
			return fmt.Errorf("DBSIZE is %q, want 0", line[:n])
		}
		return nil
	})
}
