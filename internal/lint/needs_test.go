package lint_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// servicePackages are Debian packages that start a service on installation.
var servicePackages = []string{"redis", "redis-server", "redis-sentinel", "prometheus", "prometheus-redis-exporter"}

// bareMachine creates a directory of programs that replaces PATH for .ci/needs: the
// programs that it uses, and stubs of apt-get and dpkg-deb that log their calls. The stubs
// install two programs; the second program is a link to redis-check-rdb.
func bareMachine(t *testing.T) (programs, calls string) {
	t.Helper()
	programs, calls = t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for _, name := range []string{
		"bash", "env", "dirname", "basename", "readlink", "id", "mktemp", "mkdir", "rm", "ln", "touch", "install", "cat",
		"chmod",
	} {
		if err := os.Symlink(testwait.Program(t, name), filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{
		"apt-get": `case "$1" in
install) for p in redis-check-rdb redis-benchmark gcc make openssl curl python3 systemd-analyze chromium mkfs.ext4 zsh fish; do touch PROGRAMS/$p; chmod +x PROGRAMS/$p; done ;;
download) touch ./package.deb ;;
esac`,
		"apt-cache":  `echo known`,
		"dpkg-query": `exit 1`,
		"dpkg-deb":   `mkdir -p "$3/usr/bin"; ln -s redis-check-rdb "$3/usr/bin/redis-server"; echo promtool >"$3/usr/bin/promtool"`,
	} {
		script = fmt.Sprintf("#!/usr/bin/env bash\necho %s \"$@\" >>%s\n%s\n", name, calls,
			strings.ReplaceAll(script, "PROGRAMS", programs))
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return programs, calls
}

func TestNeedsStartsNoService(t *testing.T) {
	programs, calls := bareMachine(t)
	needs := func() string {
		t.Helper()
		cmd := exec.Command(".ci/needs")
		cmd.Env = []string{"PATH=" + programs, "PROGRAMS=" + programs}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		made, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		return string(made)
	}
	first := needs()
	installed := 0
	for line := range strings.Lines(first) {
		if words := strings.Fields(line); slices.Contains(words, "install") {
			installed++
			for _, word := range words {
				if slices.Contains(servicePackages, word) {
					t.Errorf("apt-get installs %s, which starts a service: %q", word, line)
				}
			}
		}
	}
	if installed == 0 {
		t.Errorf("apt-get installed nothing: %q", first)
	}
	for _, name := range []string{"redis-server", "promtool"} {
		if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
			t.Errorf("%s was not installed: %v", name, err)
		}
	}
	if second := needs(); second != first {
		t.Errorf("a second run calls %q, want nothing", strings.TrimPrefix(second, first))
	}
}

func TestMakePrintsTheVersion(t *testing.T) {
	testwait.Long(t)
	file := filepath.Join(t.TempDir(), "limitsrv")
	cmd := exec.Command("make", "--no-print-directory", "OUT="+file)
	cmd.Env = append(os.Environ(), "GOFLAGS=-pgo=off") // compiles sooner
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := regexp.MustCompile(`^built \S+/limitsrv: limitsrv \d+\.\d+\.\d+ .*, \d+\.\d MB\n$`)
	if !want.Match(out) {
		t.Errorf("make prints %q, want %s", out, want)
	}
	binary, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if binary.Section(".symtab") != nil || binary.Section(".debug_info") != nil {
		t.Error("the binary has symbols, want it stripped as in a release")
	}
}

// TestMakeHelp: make help prints a line for each target that is neither a check of make test nor one of
// its steps.
func TestMakeHelp(t *testing.T) {
	help := exec.Command(testwait.Program(t, "make"), "--no-print-directory", "help")
	out, err := help.CombinedOutput()
	if err != nil {
		t.Fatalf("make help: %v: %s", err, out)
	}
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindSubmatch(text)
	if targets == nil {
		t.Fatal("the Makefile has no .PHONY")
	}
	for name := range strings.FieldsSeq(string(targets[1])) {
		if name == "needs" || name == "build" || name == "$(CHECKS)" {
			continue // make alone is make build
		}
		if !strings.Contains(string(out), "make "+name) {
			t.Errorf("make help does not explain make %s", name)
		}
	}
}
