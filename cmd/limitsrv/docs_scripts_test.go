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

// readmeScript matches the script of the README that begins by creating a certificate.
var readmeScript = regexp.MustCompile("(?s)```sh\n(openssl req .*?)```")

// TestReadmeWalk runs that script in an empty directory.
func TestReadmeScript(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	found := readmeScript.FindSubmatch(text)
	if found == nil {
		t.Fatal("the README has no script that begins with openssl req")
	}
	if lines := runScript(t, string(found[1])); lines < 8 {
		t.Errorf("%d lines were compared, want all of the README", lines)
	}
}

// TestDocsScripts runs the scripts of the docs that turn one server into a cluster, back
// it up, restore it, and turn the cluster into one server.
func TestDocsScripts(t *testing.T) {
	script := section(t, "cluster.md", "From one server to three") + section(t, "operations.md", "Backups of a cluster") +
		section(t, "cluster.md", "And back to one")
	if lines := runScript(t, script); lines < 13 {
		t.Errorf("%d lines were compared, want all of the docs", lines)
	}
}

// section returns all scripts of a section of the docs.
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

// ports matches the ports of servers in scripts.
var ports = regexp.MustCompile(`\b(63|73|93)\d\d\b`)

// endAll is the end of a script, which kills all of its background processes.
const endAll = "trap 'kill $(jobs -p) 2>/dev/null' EXIT; trap 'exit 1' TERM\n"

// runScript runs a script on free ports in an empty directory, line by line as if
// pasted, and compares the output of each line with its comment, up to "..." if the
// comment has that. It returns the number of such lines.
func runScript(t *testing.T, script string) int {
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
	wants := map[string]string{} // by the output file of a line
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
	bash := exec.CommandContext(ctx, "bash", "-c", endAll+strings.Join(lines, "\n")+"\nkill $!; wait $!")
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
