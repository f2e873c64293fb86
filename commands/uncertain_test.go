package commands

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// A lateExec holds batches, the saves of a store, and other work until it is released.
type lateExec struct {
	backend.Local
	mu    sync.Mutex
	holds bool
	held  []func(failed error)
}

func (e *lateExec) Exec(b *engine.Batch, done func(error)) {
	e.hold(func(failed error) {
		if failed == nil {
			e.Local.Exec(b, done)
			return
		}
		done(failed)
	})
}

// hold calls f at the release, or at once if nothing is held.
func (e *lateExec) hold(f func(failed error)) {
	e.mu.Lock()
	if e.holds {
		e.held = append(e.held, f)
		f = nil
	}
	e.mu.Unlock()
	if f != nil {
		f(nil)
	}
}

// release ends the hold: everything is done, or fails with an error.
func (e *lateExec) release(failed error) {
	e.mu.Lock()
	held := e.held
	e.held, e.holds = nil, false
	e.mu.Unlock()
	for _, f := range held {
		f(failed)
	}
}

// A heldCluster holds the changes of its members.
type heldCluster struct {
	*fakeCluster
	e *lateExec
}

func (c heldCluster) Change(_ backend.Change, done func(error)) error {
	c.e.hold(done)
	return nil
}

// A lateStore holds snapshots.
type lateStore struct {
	fakeStore
	e *lateExec
}

func (s *lateStore) Save(done func(error)) error {
	s.e.hold(done)
	return nil
}

func (s *lateStore) Backup(_ string, done func(string, error)) error {
	s.e.hold(func(err error) { done("/path", err) })
	return nil
}

// errLost is the error of a batch with an unknown outcome, as a node has it.
type errLost struct{}

func (errLost) Error() string { return "it may or may not have been applied" }
func (errLost) Code() string  { return "UNCERTAIN" }

const (
	libraryText = "#!lua name=a\nredis.register_function('f', function() return 1 end)"
	rulesText   = "domain: d\nrules:\n  - {name: r, per: [u], limits: 5/minute}\n"
)

// changes are lines of commands, if the sample of a command changes nothing. prepared makes the keys.
var changes = map[string][]string{
	"rl.rules|load": {"RL.RULES", "LOAD", strings.Replace(rulesText, "5", "6", 1)},
	"function|load": {"FUNCTION", "LOAD", strings.NewReplacer("=a", "=b", "'f'", "'g'").Replace(libraryText)},
	"eval":          {"EVAL", "return redis.call('set', KEYS[1], 1)", "1", "new"},
}

// shortChanges are more lines: their words have no spaces.
const shortChanges = `rl.override set d u 2 DENY, rl.override del d u 1, rl.check d u 3, rl.settle d u 3 BY 1, function delete a, fcall f 0, evalsha 63143b6f8007b98c53ca2149822777b3566f9241 0,
	rl.refund t 1, rl.charge t 1, rl.reset t, rl.release lease me, setex k 9 v, psetex k 9 v, incrby k 2, decrby k 2, incrbyfloat k 2, setrange k 1 v, rename list new, renamenx list new,
	expire list 9, pexpire list 9, expireat list 9000000000, pexpireat list 9000000000000, hincrby h f 2, hincrbyfloat h f 2, zincrby z 2 m, zremrangebyrank sorted 0 0,
	zremrangebyscore sorted 0 9, zremrangebylex sorted - +, zrangestore new sorted 0 0, ltrim list 0 0, lset list 0 v, lrem list 0 element, blpop list 0, brpop list 0, setbit k 1 1`

// lineOf returns a line of a command that changes something.
func lineOf(c *session.Spec) []string {
	if line := changes[c.FullName]; line != nil {
		return line
	}
	for text := range strings.SplitSeq(shortChanges, ",") {
		line, name := strings.Fields(text), strings.Split(c.FullName, "|")
		if len(line) > len(name) && slices.Equal(line[:len(name)], name) {
			return line
		}
	}
	args, _ := rightLine(c)
	var line []string
	for _, a := range args {
		line = append(line, string(a))
	}
	return line
}

// prepared are the lines before each change.
var prepared = [][]string{
	{"RL.RULES", "LOAD", rulesText}, {"RL.OVERRIDE", "SET", "d", "u", "1", "ALLOW"}, {"FUNCTION", "LOAD", libraryText},
	{"RL.TOKEN", "t", "10", "1/m", "2"},
	{"RL.ACQUIRE", "lease", "2", "1m", "me"}, {"RPUSH", "list", "element"}, {"ZADD", "sorted", "1", "member"},
	{"SCRIPT", "LOAD", "return"},
}

// newLateHandler returns a server that executes batches when a test says so.
func newLateHandler() (*session.Handler, *lateExec) {
	clock, notices := backend.NewTestClock(testStart), new(engine.Notices)
	eng := engine.New(engine.Options{Shards: 4, Seed: [16]byte{1}, MaxMemory: 64 << 20, Commands: calls.Commands})
	e := &lateExec{Local: backend.Local{Engine: eng, Clock: clock, Notices: notices}}
	return NewHandler(session.Config{
		Engine: func() *engine.Engine { return eng }, Notices: notices, Clock: clock, TestClock: clock, Exec: e, Version: "0",
		Log:     slog.New(slog.DiscardHandler),
		Cluster: heldCluster{newFakeCluster(status.Leader), e}, Store: &lateStore{e: e},
		Rewrite: func(done func(error)) { e.hold(done) },
	}), e
}

// A lateClient has a connection, and its replies.
type lateClient struct {
	*session.Session
	woken chan struct{}
}

func newLateClient(h *session.Handler) *lateClient {
	c := &lateClient{woken: make(chan struct{}, 100)}
	c.Session = h.NewSession(session.Client{Addr: "127.0.0.1:9", Wake: func() { c.woken <- struct{}{} }})
	return c
}

// send sends a line; the reply may follow later.
func (c *lateClient) send(line ...string) {
	c.Do(bytesOf(line))
	c.Flush()
	synctest.Wait()
	c.take()
}

// take appends a reply that has arrived.
func (c *lateClient) take() {
	for len(c.woken) > 0 {
		<-c.woken
		c.Resume()
	}
}

// reply waits for the reply to the last line.
func (c *lateClient) reply() string {
	for len(c.Out) == 0 {
		select {
		case <-c.woken:
			c.Resume()
		case <-time.After(time.Minute):
			return "no reply"
		}
	}
	text := string(c.Out)
	c.Out = c.Out[:0]
	return text
}

// lateRun runs a line after the lines of prepared: while its work is held, event happens.
func lateRun(t *testing.T, line []string, holds bool,
	event func(h *session.Handler, e *lateExec)) (reply string, waits bool) {
	synctest.Test(t, func(*testing.T) {
		h, e := newLateHandler()
		c := newLateClient(h)
		for _, l := range prepared {
			c.send(l...)
			c.reply()
		}
		e.holds = holds
		c.send(line...)
		waits = len(c.Out) == 0
		event(h, e)
		reply = c.reply()
		c.Close()
		h.Drain()
	})
	return reply, waits
}

// TestChangesAreAnswered walks all commands. Each command that changes something and waits, and
// that is on its way when the server shuts down, ends with its answer. That may be UNCERTAIN.
func TestChangesAreAnswered(t *testing.T) {
	for _, c := range newRegistry().Specs() {
		if c.Subs != nil || c.Flags&(spec.Write|spec.Admin|spec.Runs) == 0 || c.Flags&spec.ReadOnly != 0 ||
			c.FullName == "shutdown" {
			continue
		}
		line := lineOf(c)
		nothing := func(*session.Handler, *lateExec) {}
		want, _ := lateRun(t, line, false, nothing)
		reply, waits := lateRun(t, line, true, func(h *session.Handler, e *lateExec) {
			h.Drain()
			synctest.Wait()
			e.release(nil)
		})
		if !waits {
			continue
		}
		if want[0] == '-' {
			t.Errorf("%s has no case in changes: %q answers %s", c.FullName, line, want)
		}
		if reply != want {
			t.Errorf("%q while the server shuts down: %q, otherwise %q", line, reply, want)
		}
		if reply, _ = lateRun(t, line, true,
			func(h *session.Handler, e *lateExec) { e.release(errLost{}) }); !strings.HasPrefix(reply, "-UNCERTAIN ") {
			t.Errorf("%q with an unknown outcome: %q", line, reply)
		}
	}
}

// TestCallsAreAnswered ends the contexts of calls on their way. A call that changes something ends
// with its answer if that comes soon, else with UNCERTAIN.
func TestCallsAreAnswered(t *testing.T) {
	gone := errors.New("gone")
	load := func(ctx context.Context, h *session.Handler) error {
		_, err := h.LoadRules(ctx, session.RulesLoad{Files: []source.File{{Text: []byte(rulesText)}}, Expect: -1})
		return err
	}
	decide := func(line string) func(ctx context.Context, h *session.Handler) error {
		return func(ctx context.Context, h *session.Handler) error {
			_, err := h.Decide(ctx, session.Call{Account: h.Logins().Initial(), Args: words(line)})
			return err
		}
	}
	for _, tt := range []struct {
		name          string
		call          func(ctx context.Context, h *session.Handler) error
		answers, want error // the late answer, and then the end of the call
		never         error // the end of the call without an answer
	}{
		{"rules", load, nil, nil, session.ErrUncertain},
		{"rules, and the outcome is unknown", load, errLost{}, errLost{}, session.ErrUncertain},
		{"a change", decide("RL.TOKEN k 10 1/m"), nil, nil, session.ErrUncertain},
		{"a reset", decide("RL.RESET k"), nil, nil, session.ErrUncertain},
		{"a look", decide("RL.PEEK k"), nil, gone, gone},
	} {
		for _, never := range []bool{false, true} {
			synctest.Test(t, func(*testing.T) {
				h, e := newLateHandler()
				e.holds = true
				ctx, end := context.WithCancelCause(context.Background())
				err := make(chan error, 1)
				go func() { err <- tt.call(ctx, h) }()
				synctest.Wait()
				end(gone)
				synctest.Wait()
				want := tt.never
				if !never {
					want = tt.want
					e.release(tt.answers)
				}
				if got := <-err; resp.ErrorOf(got) != resp.ErrorOf(want) && got != want {
					t.Errorf("%s, never answered: %v: the call ends with %v, want %v", tt.name, never, got, want)
				}
				e.release(nil)
			})
		}
	}
}

// TestLoadBeforeItsBegin: a load waits for newer rules of the leader when the server shuts down. It
// has changed nothing, and says so.
func TestLoadBeforeItsBegin(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		leader, follower := newTestHandler(""), newTestHandler("")
		load := session.RulesLoad{Files: []source.File{{Text: []byte(rulesText)}}, Expect: -1}
		if _, err := leader.LoadRules(context.Background(), load); err != nil {
			t.Fatal(err)
		}
		follower.Executor().Exec = leader.Executor().Exec
		load.Files = []source.File{{Text: []byte(rulesText + "# again")}}
		failed := make(chan error, 1)
		go func() {
			_, err := follower.LoadRules(follower.Serving(), load)
			failed <- err
		}()
		synctest.Wait()
		follower.Drain()
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("the error is %v", err)
		}
		if v := leader.Config().Rules.Current().Header.Version; v != 1 {
			t.Errorf("version %d is in use", v)
		}
	})
}

// TestPipelineWithOldRules: the rules change before a pipeline and a transaction are decided, and the
// second attempt of their request by rules fails. All other commands were executed, and say so.
func TestPipelineWithOldRules(t *testing.T) {
	for _, tt := range []struct {
		before, after []string
		want          string
	}{
		{nil, nil, "+OK|-UNCERTAIN it may or may not have been applied|:1|"},
		{[]string{"MULTI"}, []string{"EXEC"},
			"+OK|+QUEUED|+QUEUED|+QUEUED|*3|+OK|-UNCERTAIN it may or may not have been applied|:1|"},
	} {
		h := newTestHandler("")
		local, batches, loading := h.Executor().Exec, 0, false
		h.Executor().Exec = execFunc(func(b *engine.Batch, done func(error)) {
			if !loading {
				batches++
			}
			switch {
			case loading:
			case batches > 1:
				done(errLost{})
				return
			default:
				loading = true
				_, err := h.LoadRules(context.Background(),
					session.RulesLoad{Files: []source.File{{Text: []byte(rulesText)}}, Expect: -1})
				if loading = false; err != nil {
					t.Error(err)
				}
			}
			local.Exec(b, done)
		})
		s := h.NewSession(session.Client{Addr: "127.0.0.1:9", Wake: func() {}})
		if got := ask(s, slices.Concat(tt.before, []string{"SET k v", "RL.CHECK d u 1", "INCR n"},
			tt.after)...); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.before, got, tt.want)
		}
	}
}

// TestReturnsAreAnswered: a request takes tokens of a descriptor and gives tokens of another back,
// and the second step fails.
func TestReturnsAreAnswered(t *testing.T) {
	for _, tt := range []struct {
		negative []bool
		want     string
	}{
		{[]bool{false, true}, "UNCERTAIN"},
		{[]bool{true, true}, "CLUSTERDOWN"}, // the request has taken nothing
	} {
		h := newTestHandler("")
		if _, err := h.LoadRules(context.Background(),
			session.RulesLoad{Files: []source.File{{Text: []byte(rulesText)}}, Expect: -1}); err != nil {
			t.Fatal(err)
		}
		local, batches := h.Executor().Exec, 0
		h.Executor().Exec = execFunc(func(b *engine.Batch, done func(error)) {
			if batches++; batches == 2 {
				done(session.ErrDown)
				return
			}
			local.Exec(b, done)
		})
		var q checks.Request
		q.Reset([]byte("d"))
		for _, u := range []string{"1", "2"} {
			q.Descriptors = append(q.Descriptors, rules.Descriptor{Entries: []rules.Entry{{Key: []byte("u"), Value: []byte(u)}}})
		}
		q.Negative = tt.negative
		err := h.Check(context.Background(), session.Call{Account: h.Logins().Initial()}, &q,
			func(*checks.Answer) { t.Error("it is answered") })
		if e := resp.ErrorOf(err); e == nil || e.Code != tt.want {
			t.Errorf("%v after %d batches: %v, want %s", tt.negative, batches, err, tt.want)
		}
	}
}

// An execFunc executes batches.
type execFunc func(b *engine.Batch, done func(error))

func (f execFunc) Exec(b *engine.Batch, done func(error)) { f(b, done) }
func (execFunc) Commit()                                  {}
