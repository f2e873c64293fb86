package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fewestCommands is below the number of commands that a server gets from any library: the
// scenario makes 66 requests or more, and some libraries deny some of them without asking.
const fewestCommands = 40

// A judge runs libraries against redis-server and another server.
type judge struct {
	against   program  // of the other server
	all       bool     // run all libraries, not only those with supported features
	supported []string // features of the other server
	scripts   string   // directory for the scripts of libraries, or empty
	folder    string   // for temporary files
}

// A result is the outcome of a library. An empty verdict is that both transcripts are equal.
type result struct {
	library
	version string
	verdict string
	failed  bool
	skipped bool
	seconds float64
}

func (r result) line() string {
	word := map[bool]string{false: "ok     ", true: "FAILED "}[r.failed]
	if r.skipped {
		word = "skipped"
	}
	return fmt.Sprintf("%s %s, %.1f s %s", word, r.name, r.seconds, r.verdict)
}

// run runs the library against both servers at once.
func (j judge) run(ctx context.Context, l library) result {
	r := result{library: l}
	if lacking := missing(l.needs, j.supported); len(lacking) > 0 && !j.all {
		r.skipped, r.verdict = true, "not run because it needs "+strings.Join(lacking, ", ")
		return r
	}
	began := time.Now()
	version, err := j.compare(ctx, l)
	r.version, r.seconds = version, time.Since(began).Seconds()
	if err != nil {
		r.failed, r.verdict = true, err.Error()
	}
	return r
}

// compare returns the version of the library, and an error that says how the runs differ
// from each other or from the expectations.
func (j judge) compare(ctx context.Context, l library) (string, error) {
	folder, err := os.MkdirTemp(j.folder, l.name+"-")
	if err != nil {
		return "", err
	}
	var (
		played [2]played
		both   sync.WaitGroup
	)
	for i, program := range []program{{path: redisServer}, j.against} {
		both.Go(func() {
			own := filepath.Join(folder, fmt.Sprint(i))
			if played[i].err = os.Mkdir(own, 0o755); played[i].err == nil {
				played[i] = j.play(ctx, l, program, own)
			}
		})
	}
	both.Wait()
	redis, other := played[0], played[1]
	switch {
	case redis.err != nil:
		return redis.version, fmt.Errorf("with redis-server: %w", redis.err)
	case other.err != nil:
		return redis.version, fmt.Errorf("with %s: %w", filepath.Base(j.against.path), other.err)
	}
	if err := checkTranscript(redis.transcript); err != nil {
		return redis.version, fmt.Errorf("with redis-server: %w", err)
	}
	if err := difference(redis.transcript, other.transcript); err != nil {
		return redis.version, err
	}
	return redis.version, checkNeeds(l.needs, redis.commands)
}

// played is a run of the scenario against one server.
type played struct {
	version    string
	transcript []string
	commands   []string // of redis-server
	err        error
}

// play starts a server, runs the library's scenario, and asks the server for the commands
// that it has executed.
func (j judge) play(ctx context.Context, l library, program program, folder string) (p played) {
	s, err := start(ctx, program, folder)
	if err != nil {
		return played{err: err}
	}
	defer func() {
		if err := s.stop(); err != nil && p.err == nil {
			p.err = fmt.Errorf("the server ended with %w", err)
		}
	}()
	before, err := s.processed()
	if err != nil {
		return played{err: err}
	}
	isRedis := program.isRedis()
	if isRedis && j.scripts != "" {
		m, err := watch(s.address, filepath.Join(j.scripts, l.name))
		if err != nil {
			return played{err: err}
		}
		defer func() {
			if err := m.end(); err != nil && p.err == nil {
				p.err = err
			}
		}()
	}
	if p = runScenario(ctx, l, s.address); p.err != nil {
		return p
	}
	after, err := s.processed()
	if err != nil {
		return played{err: err}
	}
	if after-before < fewestCommands {
		return played{err: fmt.Errorf("the server got %d commands, want at least %d: the library limits without it",
			after-before, fewestCommands)}
	}
	if isRedis {
		p.commands, p.err = s.commands()
	}
	return p
}

// runScenario runs the program of the library's language.
func runScenario(ctx context.Context, l library, address string) played {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "./run", l.name, l.pkg, address)
	c.Dir = l.language
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var p played
	if version, found := strings.CutPrefix(lines[0], "version "); found {
		p.version, p.transcript = version, lines[1:]
	}
	if err != nil {
		p.err = fmt.Errorf("%w after %q\n%s", err, strings.Join(p.transcript, "; "), tail(errors.String()))
	}
	return p
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// difference returns an error for the first line that differs between the transcripts.
func difference(redis, other []string) error {
	for i := range max(len(redis), len(other)) {
		a, b := "nothing", "nothing"
		if i < len(redis) {
			a = redis[i]
		}
		if i < len(other) {
			b = other[i]
		}
		if a != b {
			return fmt.Errorf("differs: redis-server %q, here %q", a, b)
		}
	}
	return nil
}

// checkTranscript returns an error unless the library limits exactly: a library that fails
// open, or that counts in its own memory, is not a test.
func checkTranscript(transcript []string) error {
	signs := func(line string) string {
		var b strings.Builder
		for word := range strings.FieldsSeq(line) {
			if word[0] == '+' || word[0] == '-' {
				b.WriteByte(word[0])
			}
		}
		return b.String()
	}
	want := map[string]func(line string) bool{
		"burst":  func(line string) bool { return signs(line) == "+++++---" },
		"keys":   func(line string) bool { return signs(line) == "+-+" },
		"crowd":  func(line string) bool { return line == "crowd 20 of 50" },
		"refill": func(line string) bool { return line == "refill + + +" },
	}
	var seen []string
	for _, line := range transcript {
		name, _, _ := strings.Cut(line, " ")
		if check := want[name]; check != nil && !check(line) {
			return fmt.Errorf("it doesn't limit exactly: %q", line)
		}
		seen = append(seen, name)
	}
	for name := range want {
		if !slices.Contains(seen, name) {
			return fmt.Errorf("the transcript has no line %s: %q", name, transcript)
		}
	}
	return nil
}
