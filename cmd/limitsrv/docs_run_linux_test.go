package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// minShown is the least number of outputs that the pages show, and that are compared.
const minShown = 50

// walks are pages of a person's way through the product, with wrong turns, in the form of docs.
const walks = "cmd/limitsrv/testdata/walks/*.md"

// TestDocs runs the README and the pages of docs as a reader would paste them into an
// interactive shell: the blocks of sh and console of a page, in order, in an empty directory. It
// compares the outputs that they show.
func TestDocs(t *testing.T) {
	if outputs := runPages(t, pages(t)); outputs < minShown {
		t.Errorf("the pages show %d outputs, want %d or more", outputs, minShown)
	}
}

// TestWalks runs the pages of walks in the same way. make walks reports its steps.
func TestWalks(t *testing.T) { runPages(t, pagesAt(t, walks)) }

// runPages runs the sessions of pages, and returns how many outputs they compare.
func runPages(t *testing.T, names []string) (outputs int) {
	t.Helper()
	testwait.Long(t)
	testwait.Program(t, "redis-cli")
	for _, name := range names {
		for _, s := range sessionsOf(name, blocksOf(readPage(t, name))) {
			outputs += s.outputs()
			t.Run(fmt.Sprintf("%s:%d", name, s.line), s.run)
		}
	}
	return outputs
}

// sessionsOf returns the sessions of the blocks of a page.
func sessionsOf(page string, blocks []block) (all []*docSession) {
	for i, b := range blocks {
		if i == 0 || b.newSession {
			all = append(all, &docSession{page: page, smallDisk: b.smallDisk})
		}
		if b.language == "sh" || b.language == "console" {
			all[len(all)-1].add(b)
		}
	}
	return slices.DeleteFunc(all, func(s *docSession) bool { return len(s.pastes) == 0 })
}

// A docSession is the commands of the blocks of a page.
type docSession struct {
	page       string
	line       int // of its first block
	smallDisk  bool
	wrongTurns int
	pastes     []docPaste
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
	if s.line == 0 {
		s.line = b.line
	}
	if b.wrongTurn {
		s.wrongTurns++
	}
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
// background logs to a file, not on the terminal between the outputs.
const wrapper = `#!/bin/sh
case "$# $1 $3" in "2 --listen " | "6 --listen --rules") export LIMITSRV_TEST_CLOCK=true ;; esac
read -r _ _ _ _ group _ _ foreground _ </proc/$$/stat
if [ "$group" != "$foreground" ] && [ -t 2 ]; then exec >>.server.log 2>&1; fi
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
	disk := ""
	if s.smallDisk {
		disk = filepath.Join(dir, "limits")
	}
	begin := time.Now()
	shell := openTerminal(ctx, t, dir, disk, asServer+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
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
	t.Logf("%d steps, %d wrong turns, %.1f s", len(s.pastes), s.wrongTurns, time.Since(begin).Seconds())
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
