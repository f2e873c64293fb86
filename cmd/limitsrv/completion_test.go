package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// completions returns the completions by bash of the last word of a command line. An =
// is a separate word.
func completions(t *testing.T, dir string, words ...string) []string {
	t.Helper()
	bash := testwait.Program(t, "bash")
	script, _, _ := runs(t, limitsrv(nil, "completion", "bash"))
	command := exec.Command(bash, "-c", script+`
		complete -p limitsrv >/dev/null || exit 1
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_limitsrv
		printf '%s\n' "${COMPREPLY[@]}"`, "bash", "limitsrv")
	command.Args = append(command.Args, words...)
	command.Dir = dir
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestBashCompletes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a file.yaml", "b.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		words []string
		want  string
	}{
		{"a tool", []string{"co"}, "completion config"},
		{"an option", []string{"--max-a"}, "--max-args --max-arg-bytes"},
		{"a later option", []string{"--listen", "x", "--conf"}, "--config"},
		{"a value", []string{"--fsync", ""}, "always everysec no"},
		{"the beginning of a value", []string{"--on-full", "e"}, "evict"},
		{"a value after =", []string{"--log-level", "=", "d"}, "debug"},
		{"an empty value after =", []string{"--log-format", "="}, "text json"},
		{"a value that is not enumerable", []string{"--max-memory", ""}, ""},
		{"a file", []string{"--config", ""}, "a file.yaml b.yaml"},
		{"the file of a tool", []string{"config", "check", "a"}, "a file.yaml"},
		{"a subcommand of a tool", []string{"config", ""}, "check show"},
		{"an option of a tool", []string{"config", "check", "x", "--io"}, "--io-threads"},
		{"nothing", []string{"--nonsense"}, ""},
	} {
		got := completions(t, dir, tt.words...)
		slices.Sort(got)
		want := strings.Fields(tt.want)
		slices.Sort(want)
		if strings.Join(got, " ") != strings.Join(want, " ") && strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q completes to %q, want %q", tt.name, tt.words, got, tt.want)
		}
	}
}

// The scripts are valid in their shells.
func TestCompletionScriptsAreValid(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			script, log, code := runs(t, limitsrv(nil, "completion", shell))
			if code != exitOK || !strings.Contains(script, "fsync") {
				t.Errorf("exit %d, %q", code, log)
			}
			command := exec.Command(testwait.Program(t, shell), "-n")
			command.Stdin = strings.NewReader(script)
			if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
	if _, log, code := runs(t, limitsrv(nil, "completion", "tcsh")); code != exitUsage || !strings.Contains(log, "fish") {
		t.Errorf("tcsh: exit %d, %q, want 2 and the supported shells", code, log)
	}
}
