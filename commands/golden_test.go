package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/engine/enginetest"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
)

// testStart is the start time of a script's test clock: Sunday, 9 September 2001 at
// 01:46:40 UTC.
const testStart engine.Instant = 1e18

// newTestHandler returns a server in memory with a test clock and a fixed seed.
func newTestHandler(password string) *session.Handler {
	return newTestHandlerWith(session.Config{Password: password})
}

// newRegistry returns the registry of all commands.
func newRegistry() *session.Registry { return session.NewRegistry(table, advice) }

// newTestHandlerWith does the same with the Password, Cluster, Store, Shutdown and
// Options of c.
func newTestHandlerWith(c session.Config) *session.Handler {
	clock := backend.NewTestClock(testStart)
	eng := engine.New(engine.Options{Shards: 4, Seed: [16]byte{1}, MaxMemory: 64 << 20, Commands: calls.Commands})
	c.Engine, c.Notices = func() *engine.Engine { return eng }, new(engine.Notices)
	c.Exec, c.Clock, c.TestClock = &backend.Local{Engine: eng, Clock: clock, Notices: c.Notices}, clock, clock
	c.Version = "0.0.0-test"
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Shutdown == nil {
		c.Shutdown = func(backend.Parting) {}
	}
	if c.Options == nil {
		c.Options = func() []session.Option {
			return []session.Option{
				{Name: "listen", Value: "127.0.0.1:6379"}, {Name: "max-clients", Value: "10000"},
				{Name: "max-memory", Value: "67108864"}, {Name: "on-full", Value: "refuse"},
			}
		}
	}
	if c.Spawn == nil {
		c.Spawn = func(f func()) { f() }
	}
	if c.After == nil {
		c.After = func(_ time.Duration, f func()) {
			time.Sleep(time.Millisecond) // a line of logins calls itself until its address has a token
			f()
		}
	}
	return NewHandler(c)
}

// testCluster is an emulated cluster with the same id in each run.
var testCluster = backend.Emulated{ID: strings.Repeat("0123456789", 4)}

// A script is a server and its connections by name.
type script struct {
	h        *session.Handler
	sessions map[string]*session.Session
	store    *fakeStore   // nil unless started with a store
	cluster  *fakeCluster // nil unless started with a cluster
	file     string       // contents of the users file
}

// TestScripts runs testdata/*.txt. Each file has a fresh server.
//
//	send [connection]      sends each line as a command and shows the replies;
//	                       words may be quoted as in Go
//	pipeline [connection]  sends all lines at once
//	receive [connection]   shows the pushed messages, and the reply of a command that waited
//	timeout [connection]   waits until a command that waits has its reply, and shows it
//	close [connection]     closes the connection
//	advance                moves the clock: advance 1.5s
//	resp3 [connection]     sends HELLO 3
//	server password=x      restarts with a password
//	server limits-only     restarts with the commands on limits only
//	users [password=x]     restarts with the users of a file; #word in the place of a
//	                       hash becomes a hash of the word
//	users again            changes the contents of the file; ACL LOAD reads it
//	cluster                restarts with an emulated cluster
//	replicated role=x [enabled] [moved=ADDR]
//	                       restarts as one of the three nodes of a fake cluster
//	changed [error]        completes the pending change of the cluster, with an error if
//	                       one is given, and shows it
//	waited n               completes the pending WAIT with n, and shows its arguments
//	store                  restarts with a store that saves on command
//	saved [error]          completes the store's pending operation, with an error if one
//	                       is given, and shows it
//	loading on|off         begins or ends loading
//
// A connection exists from its first use; without a name it is "a".
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := &script{h: newTestHandler(""), sessions: map[string]*session.Session{}}
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				return enginetest.HideAlgorithms(s.do(t, d))
			})
		})
	}
}

// TestEachCommandHasAScript: a script of testdata sends each command.
func TestEachCommandHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsFuncSeq(string(text),
			func(r rune) bool { return r != '.' && r != '_' && !unicode.IsLetter(r) }) {
			sent[strings.ToUpper(word)] = true
		}
	}
	for _, c := range newRegistry().All {
		if !sent[c.Name] {
			t.Errorf("no script sends %s: write testdata/%s.txt", c.Name, strings.ToLower(c.Name))
		}
	}
}

func (s *script) do(t *testing.T, d *datadriven.TestData) string {
	lines := strings.Split(strings.TrimSpace(d.Input), "\n")
	switch d.Cmd {
	case "advance":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err == nil {
			err = s.h.Config().TestClock.Advance(by)
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return "ok\n"
	case "server":
		var c session.Config
		if c.LimitsOnly = d.HasArg("limits-only"); !c.LimitsOnly {
			d.ScanArgs(t, "password", &c.Password)
		}
		*s = script{h: newTestHandlerWith(c), sessions: map[string]*session.Session{}}
		return "ok\n"
	case "users":
		return s.users(t, d)
	case "cluster":
		*s = script{h: newTestHandlerWith(session.Config{Cluster: testCluster}), sessions: map[string]*session.Session{}}
		return "ok\n"
	case "replicated":
		s.replicated(t, d)
		return "ok\n"
	case "changed":
		failure := ""
		if len(d.CmdArgs) > 0 {
			failure = d.CmdArgs[0].Key
		}
		s.cluster.end(failure)
		return fmt.Sprintf("%+v\n", s.cluster.changes[len(s.cluster.changes)-1])
	case "waited":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.cluster.counted(n)
		return fmt.Sprintf("%+v\n", s.cluster.waits[len(s.cluster.waits)-1])
	case "store":
		s.store = &fakeStore{}
		s.h, s.sessions = newTestHandlerWith(session.Config{Store: s.store, Shutdown: s.store.shutDown}),
			map[string]*session.Session{}
		return "ok\n"
	case "saved":
		return s.saved(d)
	case "loading":
		s.h.SetLoading(d.CmdArgs[0].Key == "on")
		return "ok\n"
	case "resp3":
		s.send(t, d, []string{"HELLO 3"}, false)
		return "ok\n"
	case "timeout":
		c := s.sessions[d.CmdArgs[0].Key]
		testwait.Until(t, 10*time.Second, "the command ends", func() bool { return c.Resume() && !c.Waits() })
		return s.send(t, d, nil, false)
	case "close":
		s.sessions[d.CmdArgs[0].Key].Close()
		return "ok\n"
	case "receive":
		return s.send(t, d, nil, false)
	case "send":
		return s.send(t, d, lines, false)
	case "pipeline":
		return s.send(t, d, lines, true)
	}
	d.Fatalf(t, "unknown directive %s", d.Cmd)
	return ""
}

// users restarts with users, or changes their file.
func (s *script) users(t *testing.T, d *datadriven.TestData) string {
	text := withHashes(t, d.Input)
	if d.HasArg("again") {
		s.file = text
		return "ok\n"
	}
	var password string
	d.MaybeScanArgs(t, "password", &password)
	*s = script{sessions: map[string]*session.Session{}, file: text}
	var err error
	if s.h, err = newTestHandlerOf(password, func() string { return s.file }); err != nil {
		return err.Error() + "\n"
	}
	return "ok\n"
}

// replicated restarts with a fake cluster.
func (s *script) replicated(t *testing.T, d *datadriven.TestData) {
	var role string
	d.ScanArgs(t, "role", &role)
	c := newFakeCluster(status.Role(role))
	c.enabled = d.HasArg("enabled")
	d.MaybeScanArgs(t, "moved", &c.moved)
	*s = script{h: newTestHandlerWith(session.Config{Cluster: c}), sessions: map[string]*session.Session{}, cluster: c}
}

// saved completes the pending snapshot.
func (s *script) saved(d *datadriven.TestData) string {
	var err error
	if len(d.CmdArgs) > 0 {
		err = errors.New(d.CmdArgs[0].Key)
	}
	what := s.store.begun
	s.store.end(err)
	return what + "\n"
}

// send sends lines on the connection that d names and shows the replies.
func (s *script) send(t *testing.T, d *datadriven.TestData, lines []string, atOnce bool) string {
	name := "a"
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	c := s.sessions[name]
	if c == nil {
		c = s.h.NewSession(session.Client{
			Addr: fmt.Sprintf("127.0.0.1:%d", 5000+len(s.sessions)), LocalAddr: "127.0.0.1:6379",
			Since: time.Now(), Close: func() {}, Wake: func() {},
		})
		s.sessions[name] = c
	}
	for _, l := range lines {
		args, err := splitLine(l)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if !c.Do(args) && strings.HasPrefix(l, "RL.OVERRIDE") { // waits for new rules
			testwait.Until(t, 10*time.Second, "the rules are compiled", c.Resume)
			c.Do(args)
		}
		if !atOnce {
			c.Flush()
		}
		if strings.HasPrefix(l, "RL.CHECK") { // may wait for new rules
			testwait.Until(t, 10*time.Second, "the check is answered", c.Resume)
		}
	}
	c.Flush()
	if lines == nil {
		c.Resume()
	}
	replies, err := readReplies(c.Out)
	if err != nil {
		d.Fatalf(t, "%v in %q", err, c.Out)
	}
	c.Out = nil
	if c.Closing() {
		replies = append(replies, "(closed)")
		c.Close()
		delete(s.sessions, name)
	}
	return strings.Join(replies, "\n") + "\n"
}

// splitLine splits a line into words; those that begin with " are unquoted.
func splitLine(line string) (args [][]byte, err error) {
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return args, nil
		}
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			args, line = append(args, []byte(word)), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		args, line = append(args, []byte(word)), line[len(quoted):]
	}
}
