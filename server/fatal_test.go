package server

import (
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"limitsrv/commands"
	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"

	"limitsrv/internal/testing/testwait"
)

// childEnv is the variable that makes the test binary a server that panics. Its value is
// the place of the panic, and Config.Loops.
const childEnv = "LIMITSRV_TEST_PANIC"

// A panickingExec panics at any batch with its lock held, as an engine might.
type panickingExec struct {
	mu   sync.Mutex
	slow bool // panic in another goroutine
}

func (*panickingExec) Commit() {}

func (e *panickingExec) Exec(*engine.Batch, func(error)) {
	e.mu.Lock()
	if e.slow {
		go e.apply()
		return
	}
	e.apply()
}

func (e *panickingExec) apply() { panic("test panic") }

// childSurvived is the exit code of a child that did not panic.
const childSurvived = 77

// TestPanicChild is the child, and passes in any other process.
func TestPanicChild(t *testing.T) {
	where, number, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		return
	}
	loops, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	clock, state := backend.NewTestClock(1), engine.New(engine.Options{Shards: 1})
	config := session.Config{Clock: clock, Engine: func() *engine.Engine { return state },
		Exec: &backend.Local{Engine: state, Clock: clock}}
	listen := Config{Loops: loops}
	command := array("RL.TOKEN", "a", "1", "1")
	switch where {
	case "Exec":
		config.Exec = &panickingExec{}
	case "WATCH":
		config.Exec = &panickingExec{}
		command = array("WATCH", "a")
	case "later":
		config.Exec = &panickingExec{slow: true}
	case "Commit":
		listen.Commit = func() { (&panickingExec{}).apply() }
	case "engine":
		config.Engine = func() *engine.Engine { return nil }
		command = array("DBSIZE")
	}
	listen = withListener(t, listen)
	h := commands.NewHandler(config)
	listen.NewSession = func(c session.Client) Session { return h.NewSession(c) }
	listen.Logger = slog.New(slog.DiscardHandler)
	s, err := New(listen)
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve()
	dial, at := net.Dial, s.Addr()
	if at == nil {
		dial, at = dialTLS, s.TLSAddr()
	}
	nc, err := dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	send(t, nc, command)
	_ = nc.SetDeadline(testwait.Soon(testTimeout))
	_, _ = nc.Read(make([]byte, 1)) // until the process or the connection ends
	os.Exit(childSurvived)
}

// A panic in the Exec, or in a read of the engine, ends the process with its stack, on
// every transport.
func TestPanicOfTheEngineEndsTheProcess(t *testing.T) {
	for _, tt := range []struct{ where, stack string }{
		{"Exec", "(*panickingExec).apply"}, {"WATCH", "(*panickingExec).apply"}, {"later", "(*panickingExec).apply"},
		{"Commit", "(*panickingExec).apply"}, {"engine", "(*Engine)."},
	} {
		for _, tr := range transports {
			t.Run(tt.where+"/"+tr.name, func(t *testing.T) {
				t.Parallel()
				child := exec.Command(os.Args[0], "-test.run=^TestPanicChild$")
				child.Env = append(os.Environ(), childEnv+"="+tt.where+" "+strconv.Itoa(tr.loops))
				out, err := child.CombinedOutput()
				code := child.ProcessState.ExitCode()
				if code != 2 || !strings.Contains(string(out), "panic: ") || !strings.Contains(string(out), tt.stack) {
					t.Errorf("ended with %d, %v, and said\n%s\nwant 2 and a stack with %s", code, err, out, tt.stack)
				}
			})
		}
	}
}
