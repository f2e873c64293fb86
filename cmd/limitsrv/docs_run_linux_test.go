package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// minShown is the least number of outputs that the pages show, and that are compared.
const minShown = 50

// TestDocs runs the README and the pages of docs as a reader would paste them into an
// interactive shell: the blocks of sh and console of a page, in order, in an empty directory. It
// compares the outputs that they show.
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
			outputs += s.outputs()
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

// A docSession is the commands of the blocks of a page.
type docSession struct {
	page   string
	line   int // of its first block
	pastes []docPaste
}

// A docPaste is lines that a reader pastes at once. The terminal must show the output, if
// there is an output.
type docPaste struct {
	line        int
	lines, want string
	compared    bool
}

// add appends the commands of a block: a paste for each command with an output, and a paste
// for the lines between two of them.
func (s *docSession) add(b block) {
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		p := docPaste{line: b.line + 1 + i, lines: lines[i]}
		if b.language == "sh" {
			_, p.want, p.compared = strings.Cut(lines[i], "    # ")
			for !p.compared && i+1 < len(lines) && !strings.Contains(lines[i+1], "    # ") {
				i++
				p.lines += "\n" + lines[i]
			}
			s.pastes = append(s.pastes, p)
			continue
		}
		p.lines, p.compared = strings.TrimPrefix(lines[i], "$ "), true
		for i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") {
			i++
			p.want += lines[i] + "\n"
		}
		s.pastes = append(s.pastes, p)
	}
}

// outputs returns how many outputs are compared.
func (s *docSession) outputs() (n int) {
	for _, p := range s.pastes {
		if p.compared {
			n++
		}
	}
	return n
}

// ports are the ports of servers in blocks.
var ports = regexp.MustCompile(`\b(63|73|93)\d\d\b`)

// wrapper is the limitsrv of a session. The clock of a server that begins with --listen, and has
// at most rules besides, stands still, so that pages can show exact times. A server in the
// background logs to a file, not between the outputs.
const wrapper = `#!/bin/sh
case "$# $1 $3" in "2 --listen " | "6 --listen --rules") export LIMITSRV_TEST_CLOCK=true ;; esac
read -r _ _ _ _ group _ _ foreground _ </proc/$$/stat
if [ "$group" != "$foreground" ]; then exec >>.server.log 2>&1; fi
exec %s "$@"
`

// run pastes the commands into an interactive shell in an empty directory, on free ports. It waits
// for nothing: a page must wait itself until its servers are ready.
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
	shell := openTerminal(ctx, t, dir, asServer+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
	defer func() {
		if err := shell.end(); err != nil {
			t.Errorf("bash ended: %v", err)
		}
		if log, err := os.ReadFile(filepath.Join(dir, ".server.log")); t.Failed() && err == nil {
			t.Logf("the log of its servers:\n%s", log)
		}
	}()
	for _, p := range s.pastes {
		got, err := shell.paste(onFree(p.lines))
		if err != nil {
			t.Errorf("%s:%d: %s: %v after %q", s.page, p.line, p.lines, err, got)
			return
		}
		if want := onFree(p.want); p.compared && !isShown(want, strings.TrimSpace(got), s.page == "README.md") {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", s.page, p.line, p.lines, got, want)
		}
	}
}

// longTime are the milliseconds of a transcript that a person made at human speed.
var longTime = regexp.MustCompile(`\b\d{5,7}\b`)

// isShown reports whether the output shown on a page matches this output: "..." stands for
// anything. If a person made the transcript, its long times are up to a fifth shorter.
func isShown(shown, output string, transcript bool) bool {
	parts := strings.Split(strings.TrimSpace(shown), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
		if transcript {
			parts[i] = longTime.ReplaceAllString(parts[i], `(\d{5,7})`)
		}
	}
	found := regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).FindStringSubmatch(output)
	if found == nil || !transcript {
		return found != nil
	}
	for i, text := range longTime.FindAllString(shown, -1) {
		written, _ := strconv.Atoi(text)
		if got, _ := strconv.Atoi(found[i+1]); written > got || written < got*4/5 {
			return false
		}
	}
	return true
}
