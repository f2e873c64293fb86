package options

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// configFlags returns the options that may be in a file.
func configFlags(t testing.TB) []*kong.Flag {
	t.Helper()
	flags, err := Flags()
	if err != nil {
		t.Fatal(err)
	}
	return optionsOf(flags)
}

// The precedence is command line, environment, file, default.
func TestConfigPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limitsrv.yaml")
	const text = "max-args: 1\nmax-clients: 1\nmax-memory: 1\npeers: [\"a,b\", c]\nraft: 127.0.0.1:1\ndata: " +
		"d\nunprotected: true\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIMITSRV_CONFIG", file)
	t.Setenv("LIMITSRV_MAX_CLIENTS", "2")
	t.Setenv("LIMITSRV_MAX_MEMORY", "2")
	t.Setenv("LIMITSRV_UNPROTECTED", "false")
	c, err := Parse([]string{"--max-memory", "3"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxArgs != 1 || c.MaxClients != 2 || c.MaxMemory != 3 || c.MaxOutputBytes != 64<<20 || c.Unprotected {
		t.Errorf("file, environment, command line and default set %d, %d, %d and %d, %v, want 1, 2, 3, 64 MB and false",
			c.MaxArgs, c.MaxClients, c.MaxMemory, c.MaxOutputBytes, c.Unprotected)
	}
	if strings.Join(c.Peers, " ") != "a,b c" {
		t.Errorf("peers = %q, want the two of the file, one with a comma", c.Peers)
	}
	for _, f := range c.flags {
		want := map[string]string{
			"config": "LIMITSRV_CONFIG", "max-args": file + ":1", "max-clients": "LIMITSRV_MAX_CLIENTS",
			"max-memory": "command line", "max-output-bytes": "default",
		}[f.Name]
		if got := c.origin(f); want != "" && got != want {
			t.Errorf("origin of %s = %s, want %s", f.Name, got, want)
		}
	}
}

// A mistake in the environment is reported even if the file has a valid value, and a
// mistake in the file even if the command line has a valid value.
func TestConfigReportsOverriddenMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limitsrv.yaml")
	if err := os.WriteFile(file, []byte("max-clients: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIMITSRV_MAX_CLIENTS", "many")
	if _, err := Parse([]string{"--config", file}, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "LIMITSRV_MAX_CLIENTS") {
		t.Errorf("a wrong setting gives %v, want an error with its name", err)
	}
	os.Unsetenv("LIMITSRV_MAX_CLIENTS")
	if err := os.WriteFile(file, []byte("max-clients: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse([]string{"--config", file, "--max-clients", "5"}, io.Discard); !errors.As(err, new(Mistake)) {
		t.Errorf("a wrong file gives %v, want its line", err)
	}
}

func TestConfigFileMustBeRegular(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "not a regular file",
		"/dev/zero":                "not a regular file",
		pipe:                       "not a regular file",
	} {
		if _, err := Parse([]string{"--config", name}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--config %s gives %v, want %q", name, err, want)
		}
	}
}

func TestConfigRejectsDeepNesting(t *testing.T) {
	for _, text := range []string{"\npeers: " + strings.Repeat("[", 60_000), "\n" + strings.Repeat("- ", 30_000)} {
		if _, err := parseConfig("f", []byte(text), configFlags(t)); err == nil ||
			err.Error() != "f:2: not YAML: exceeded max depth of 10000" {
			t.Errorf("%.20q... gives %v", text, err)
		}
	}
}

// --help and --version work without a readable file.
func TestHelpIgnoresConfigFile(t *testing.T) {
	t.Setenv("LIMITSRV_CONFIG", "/nowhere/limitsrv.yaml")
	for arg, want := range map[string]error{"--help": ErrHelp, "--version": ErrVersion,
		"--help-commands": ErrHelpCommands} {
		var help bytes.Buffer
		if _, err := Parse([]string{arg}, &help); err != want || (help.Len() > 0) != (want == ErrHelp) {
			t.Errorf("%s: %v and %d bytes of help, want %v", arg, err, help.Len(), want)
		}
	}
}

// FuzzConfig checks that every error of any file has its line, and never the password.
func FuzzConfig(f *testing.F) {
	flags := configFlags(f)
	const secret = "Xyzzy0815"
	for _, seed := range [][2]string{
		{"", ""}, {"max-memory: 1gb\n", "peers: [a, b]\n"}, {"listen: \"", "\"\n"}, {"? [", "]: x"}, {"{a: b,", "}"},
		{"drain: |\n", ""}, {"drain: >\n", ""}, {"- x", "..."}, {"max-clients: '", "'"}, {"%TAG", "---"},
		{"a: &b\n", "c: *b"}, {"[[[[", "]]"},
		{"max-args: !!int\n", ""}, {"listen: x\n ", ""}, {"? ", ": y"},
	} {
		f.Add(seed[0], seed[1])
	}
	line := regexp.MustCompile(`^f(:[1-9][0-9]*)?: `)
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, secret[:4]) {
			return
		}
		defer time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("hangs: %q %q", before, after)) }).Stop()
		entries, err := parseConfig("f", []byte(before+"\npassword: "+secret+"\n"+after), flags)
		if err == nil {
			for name, e := range entries {
				if e.line < 1 {
					t.Errorf("%s has line %d", name, e.line)
				}
			}
			return
		}
		for text := range strings.SplitSeq(err.Error(), "\n") {
			if !line.MatchString(text) || strings.Contains(text, secret) {
				t.Errorf("error %q, want its line and no password", text)
			}
		}
	})
}
