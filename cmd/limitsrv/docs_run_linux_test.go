package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// minShown is the least number of outputs that the pages show, and that are compared.
const minShown = 50

// TestDocs runs the README and the pages of docs as a reader would paste them: the
// blocks of sh and console of a page, in order, in an empty directory. It compares the
// outputs that they show.
func TestDocs(t *testing.T) {
	testwait.Long(t)
	testwait.Program(t, "redis-cli")
	outputs, sessions := 0, 0
	for _, name := range pages(t) {
		var s *docSession
		run := func() {
			if s == nil {
				return
			}
			sessions++
			outputs += len(s.wants)
			t.Run(fmt.Sprintf("%s:%d", name, s.line), s.run)
		}
		for _, b := range blocksOf(readPage(t, name)) {
			if b.newSession {
				run()
				s = nil
			}
			if b.language != "sh" && b.language != "console" {
				continue
			}
			if s == nil {
				s = &docSession{page: name, line: b.line}
			}
			s.add(b)
		}
		run()
	}
	if outputs < minShown {
		t.Errorf("%d sessions show %d outputs, want %d or more", sessions, outputs, minShown)
	}
}

// A docSession is a script made of the blocks of a page.
type docSession struct {
	page   string
	line   int // of its first block
	script strings.Builder
	wants  []docOutput
}

// A docOutput is the output that a page shows of a command.
type docOutput struct {
	line          int
	command, want string
}

// add appends the commands of a block.
func (s *docSession) add(b block) {
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		at := b.line + 1 + i
		if b.language == "sh" {
			if command, want, ok := strings.Cut(lines[i], "    # "); ok {
				s.compare(at, command, want)
			} else {
				s.script.WriteString(lines[i] + "\n")
			}
			continue
		}
		command := strings.TrimPrefix(lines[i], "$ ")
		var want []string
		for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") {
			i++
			want = append(want, lines[i])
		}
		s.compare(at, command, strings.Join(want, "\n"))
	}
}

// compare appends a command with an output that is compared.
func (s *docSession) compare(line int, command, want string) {
	fmt.Fprintf(&s.script, "{ %s; } >.output%d 2>&1\n", command, len(s.wants))
	s.wants = append(s.wants, docOutput{line, command, want})
}

// ports are those of servers in scripts.
var ports = regexp.MustCompile(`\b(63|73|93)\d\d\b`)

// endsAll makes a script end all its programs with itself.
const endsAll = "trap 'kill $(jobs -p) 2>/dev/null' EXIT; trap 'exit 1' TERM\n"

// wrapper is the limitsrv of a session. The clock of a server that begins with --listen, and has
// at most rules besides, stands still, so that pages can show exact times.
const wrapper = `#!/bin/sh
case "$# $1 $3" in "2 --listen " | "6 --listen --rules") export LIMITSRV_TEST_CLOCK=true ;; esac
exec %s "$@"
`

// run pastes the script into a shell in an empty directory, on free ports. It waits for nothing: a
// page must wait itself until its servers are ready.
func (s *docSession) run(t *testing.T) {
	free := map[string]string{}
	onFree := func(text string) string {
		return ports.ReplaceAllStringFunc(text, func(port string) string {
			if free[port] == "" {
				_, other, err := net.SplitHostPort(freeAddress(t))
				if err != nil {
					t.Fatal(err)
				}
				free[port] = other
			}
			return free[port]
		})
	}
	script := onFree(s.script.String())
	dir := t.TempDir()
	program, err := os.Executable()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "limitsrv"), fmt.Appendf(nil, wrapper, program), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Scaled(6*wait))
	defer cancel()
	bash := exec.CommandContext(ctx, "bash")
	bash.Stdin = strings.NewReader(endsAll + script + "\nkill $(jobs -p) 2>/dev/null; wait")
	bash.Cancel, bash.WaitDelay = func() error { return bash.Process.Signal(syscall.SIGTERM) }, wait
	bash.Dir = dir
	bash.Env = append(os.Environ(), asServer+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
	said, err := bash.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
	for i, w := range s.wants {
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(".output%d", i)))
		if err != nil {
			t.Errorf("%s:%d: %s: %v", s.page, w.line, w.command, err)
			continue
		}
		if want := onFree(w.want); !isShown(want, strings.TrimSpace(strings.ReplaceAll(string(got), "\r", ""))) {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", s.page, w.line, w.command, got, want)
		}
	}
}

// isShown reports whether a page that shows an output shows this one: "..." stands for
// anything.
func isShown(shown, output string) bool {
	parts := strings.Split(strings.TrimSpace(shown), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(output)
}
