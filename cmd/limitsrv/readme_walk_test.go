package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"limitsrv/testwait"
)

// walk is the script of the README that begins with making a certificate.
var walk = regexp.MustCompile("(?s)```sh\n(openssl req .*?)```")

// TestReadmeWalk runs that script in an empty directory.
func TestReadmeWalk(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	found := walk.FindSubmatch(text)
	if found == nil {
		t.Fatal("the README has no script that begins with openssl req")
	}
	if lines := walksThrough(t, string(found[1])); lines < 8 {
		t.Errorf("%d lines were looked at, want all that the README shows", lines)
	}
}

// TestWaysWalk runs the scripts of the docs by which one server becomes a cluster, that
// is backed up and restored, and the cluster becomes one server.
func TestWaysWalk(t *testing.T) {
	script := section(t, "cluster.md", "From one server to three") + section(t, "operations.md", "Backups of a cluster") +
		section(t, "cluster.md", "And back to one")
	if lines := walksThrough(t, script); lines < 13 {
		t.Errorf("%d lines were looked at, want all that the docs show", lines)
	}
}

// section is all scripts of a section of the docs.
func section(t *testing.T, file, title string) (script string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("docs/%s has no section %q", file, title)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		script += block[1]
	}
	return script
}

// ports are those of servers in scripts.
var ports = regexp.MustCompile(`\b(63|73|93)\d\d\b`)

// endsAll has a script end all that it has begun with itself.
const endsAll = "trap 'kill $(jobs -p) 2>/dev/null' EXIT; trap 'exit 1' TERM\n"

// walksThrough runs a script in an empty directory, line by line as a reader would paste
// it, on free ports, and wants of each line what stands in its comment: up to "...", if
// that is in it. It returns how many such lines there are.
func walksThrough(t *testing.T, script string) int {
	t.Helper()
	free := map[string]string{}
	script = ports.ReplaceAllStringFunc(script, func(port string) string {
		if free[port] == "" {
			_, port2, err := net.SplitHostPort(freeAddress(t))
			if err != nil {
				t.Fatal(err)
			}
			free[port] = port2
		}
		return free[port]
	})
	dir := t.TempDir()
	program, err := os.Executable()
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "limitsrv"))
	}
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{} // by the file that a line's output goes to
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		if command, want, ok := strings.Cut(line, "    # "); ok {
			name := "line" + strconv.Itoa(i)
			wants[name] = want
			lines[i] = "{ " + command + "; } >" + name + " 2>&1"
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Scaled(6*wait))
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", endsAll+strings.Join(lines, "\n")+"\nkill $!; wait $!")
	bash.Cancel, bash.WaitDelay = func() error { return bash.Process.Signal(syscall.SIGTERM) }, wait
	bash.Dir = dir
	bash.Env = append(os.Environ(), asServer+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
	said, err := bash.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
	for name, want := range wants {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if begin, _, cut := strings.Cut(want, "..."); !strings.HasPrefix(string(got), begin) || !cut && strings.TrimSpace(string(got)) != want {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
	return len(wants)
}
