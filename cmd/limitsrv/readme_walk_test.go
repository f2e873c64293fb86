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
	"testing"

	"limitsrv/testwait"
)

// walk is the script of the README that begins with making a certificate.
var walk = regexp.MustCompile("(?s)```sh\n(openssl req .*?)```")

// TestReadmeWalk runs that script in an empty directory, line by line as a reader
// would paste it, and wants of each line what stands in its comment: up to "...", if
// that is in it.
func TestReadmeWalk(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	found := walk.FindSubmatch(text)
	if found == nil {
		t.Fatal("the README has no script that begins with openssl req")
	}
	script := string(found[1])
	for _, port := range []string{"6380", "9379"} {
		_, free, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		script = strings.ReplaceAll(script, port, free)
	}
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
	bash := exec.CommandContext(ctx, "bash", "-c", strings.Join(lines, "\n")+"\nkill $!; wait $!")
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
	if len(wants) < 8 {
		t.Errorf("%d lines were looked at, want all that the README shows", len(wants))
	}
}
