package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/cmd/limitsrv/state"
	"limitsrv/commands"
	"limitsrv/commands/backend"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// rulesText returns a text with one limit.
func rulesText(limit int) string {
	return fmt.Sprintf("domain: api\nrules:\n  - {name: login, per: [ip], limits: [%d/minute]}\n", limit)
}

// TestFollowRules changes the file of --rules, and loads rules by command.
func TestFollowRules(t *testing.T) {
	var (
		path  = filepath.Join(t.TempDir(), "rules.yaml")
		e     = engine.New(engine.Options{Commands: state.Commands})
		clock = backend.NewTestClock(1e18)
		log   testwait.Log
		n     = &node{
			Configuration: &options.Configuration{Options: &options.Options{Rules: path}}, log: log.Logger(),
			handler: commands.NewHandler(session.Config{
				Engine: func() *engine.Engine { return e }, Exec: &backend.Local{Engine: e, Clock: clock}, Clock: clock,
				Log: slog.New(slog.DiscardHandler),
			}),
		}
		f       = &rulesFollower{n: n}
		command = func(limit int) {
			if _, err := n.handler.LoadRules(context.Background(),
				session.RulesLoad{Files: []source.File{{Text: []byte(rulesText(limit))}}, Expect: -1}); err != nil {
				t.Fatal(err)
			}
		}
	)
	for _, tt := range []struct {
		name    string
		file    string
		before  func()
		version uint64 // of the rules then, and their limit
		limit   int64
		wrong   string // in the error of the file
		differs bool
	}{
		{"the first rules", rulesText(5), nil, 1, 5, "", false},
		{"a change", rulesText(6), nil, 2, 6, "", false},
		{"a mistake", "domain: 5\nrules: 7\n", nil, 2, 6, "rules.yaml:2: rules must be a list", false},
		{"a change back", rulesText(5), nil, 3, 5, "", false},
		{"rules by command stay", rulesText(5), func() { command(9) }, 4, 9, "", true},
		{"an older file of a node that returns", rulesText(6), func() { f = &rulesFollower{n: n} }, 4, 9, "", true},
		{"its change", rulesText(7), nil, 5, 7, "", false},
		{"its change to an earlier text", rulesText(6), nil, 6, 6, "", false},
		{"a file older than the history", rulesText(5), func() {
			f = &rulesFollower{n: n}
			for i := range stored.MaxPast + 2 {
				command(100 + i)
			}
		}, 6 + stored.MaxPast + 2, 100 + stored.MaxPast + 1, "", true},
		{"the same file, which wins", rulesText(5), func() { n.RulesFileWins = true }, 6 + stored.MaxPast + 3, 5, "", false},
		{"it wins over a command", rulesText(5), func() { command(9) }, 6 + stored.MaxPast + 5, 5, "", false},
	} {
		if tt.before != nil {
			tt.before()
		}
		if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		f.check(context.Background())
		failed, _ := n.handler.RulesFailed()
		f.check(context.Background())
		again, wrong := n.handler.RulesFailed()
		s := n.handler.Config().Rules.Current()
		if differs, ok := n.handler.RulesFileDiffers(),
			n.handler.RulesOK(); differs != tt.differs || ok != (!tt.differs && tt.wrong == "") {
			t.Errorf("%s: the file differs: %v, the rules are ok: %v", tt.name, differs, ok)
		}
		if s.Header.Version != tt.version || s.Set.Limit(0).Quota != tt.limit || again != failed ||
			(wrong == "") != (tt.wrong == "") || !strings.Contains(wrong, tt.wrong) {
			t.Errorf("%s: version %d, limit %d, error %q, %d errors and then %d", tt.name, s.Header.Version,
				s.Set.Limit(0).Quota, wrong, failed, again)
		}
	}
	for text, times := range map[string]int{"have a mistake": 1, "have an earlier version": 3} {
		if got := strings.Count(log.String(), text); got != times {
			t.Errorf("the log says %q %d times, want %d:\n%s", text, got, times, log.String())
		}
	}
}

// A failingExec refuses everything while it is set.
type failingExec struct {
	backend.Local
	fails bool
}

func (f *failingExec) Exec(b *engine.Batch, done func(error)) {
	if f.fails {
		done(errors.New("no level"))
		return
	}
	f.Local.Exec(b, done)
}

// TestFirstRulesAreAwaited: the nodes of a cluster are not ready before the leader has loaded its
// first rules, unless it fails too often.
func TestFirstRulesAreAwaited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(rulesText(5)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		failures  int
		successes int
		awaited   bool
	}{
		{"at first", 0, 0, true},
		{"while they can't be loaded", firstTries - 1, 0, true},
		{"when they are loaded", 0, 1, false},
		{"when they are loaded at last", 3, 1, false},
		{"when they can't be loaded", firstTries, 0, false},
		{"long after that", firstTries + 2, 0, false},
	} {
		e, clock := engine.New(engine.Options{Commands: state.Commands}), backend.NewTestClock(1e18)
		exec := &failingExec{Local: backend.Local{Engine: e, Clock: clock}}
		n := &node{
			Configuration: &options.Configuration{Options: &options.Options{Rules: path}}, log: slog.New(slog.DiscardHandler),
			handler: commands.NewHandler(session.Config{
				Engine: func() *engine.Engine { return e }, Exec: exec, Clock: clock, Log: slog.New(slog.DiscardHandler),
			}),
		}
		f, err := newRulesFollower(n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tt.failures + tt.successes {
			exec.fails = i < tt.failures
			f.check(t.Context())
		}
		if got := f.areAwaited(); got != tt.awaited {
			t.Errorf("%s: the rules are awaited: %v, want %v", tt.name, got, tt.awaited)
		}
	}
	if f, err := newRulesFollower(&node{Configuration: &options.Configuration{Options: &options.Options{}}}); err != nil ||
		f.areAwaited() {
		t.Errorf("without --rules they are awaited: %v, %v", f.areAwaited(), err)
	}
}

func TestReadRuleFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := options.ReadRuleFiles(dir); err == nil ||
		!strings.Contains(err.Error(), "at least one file *.yaml or *.yml, got none") {
		t.Errorf("an empty directory: %v", err)
	}
	for name, text := range map[string]string{"b.yml": "domain: b\n", "a.YAML": "domain: a", "c.txt": "no rules",
		".d.txt": "hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, leftOut, err := options.RuleFiles(dir); err != nil || len(leftOut) != 1 || filepath.Base(leftOut[0]) != "c.txt" {
		t.Errorf("left out: %q, %v, want c.txt", leftOut, err)
	}
	o := options.Options{Rules: dir}
	prepare := func() (*stored.Prepared, error) {
		all, err := o.ReadRules()
		if err != nil {
			t.Fatal(err)
		}
		return options.PrepareRules(all)
	}
	p, err := prepare()
	if err != nil || string(p.Text) != "domain: a\n---\ndomain: b\n" || len(p.Set.Domains()) != 2 {
		t.Errorf("rules %+v, %v", p, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte("domain: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = prepare(); err == nil || !strings.Contains(err.Error(), "d.yaml:1:") {
		t.Errorf("a domain twice: %v", err)
	}
}
