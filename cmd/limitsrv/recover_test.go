package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// joined starts a node of a cluster, and waits until it decides.
func joined(t *testing.T, args ...string) (*running, *wire) {
	testwait.Long(t)
	t.Helper()
	r := serve(t, args...)
	w := wired(t, r.address)
	until(t, "it decides", func() bool {
		replies, err := w.all("RL.FIXED ready 1000000 1d")
		return err == nil && !isError(replies[0], "CLUSTERDOWN") && !isError(replies[0], "UNCERTAIN")
	})
	return r, w
}

// end stops a server by SIGTERM.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.Process.Signal(syscall.SIGTERM)
	if code := r.exit(t); code != exitOK {
		t.Fatalf("exit %d, want 0\n%s", code, r.logged())
	}
}

// runsTool runs a tool, and compares its exit code and parts of its output.
func runsTool(t *testing.T, stdin string, code int, args []string, want ...string) {
	t.Helper()
	command := limitsrv(nil, args...)
	command.Stdin = strings.NewReader(stdin)
	out, log, got := runs(t, command)
	if got != code {
		t.Errorf("%v: exit %d, want %d\n%s%s", args, got, code, out, log)
	}
	for _, want := range want {
		if !strings.Contains(out+log, want) {
			t.Errorf("%v: no %q in\n%s%s", args, want, out, log)
		}
	}
}

// One of two nodes is lost; the other becomes a new cluster, which an empty node joins.
func TestRecover(t *testing.T) {
	first, second := freeAddress(t), freeAddress(t)
	dir, lost := filepath.Join(t.TempDir(), "data"), t.TempDir()
	peers := first + "," + second
	r := serve(t, "--data", dir, "--raft", first, "--peers", peers)
	other, w := joined(t, "--data", lost, "--raft", second, "--peers", peers)
	w.do(t, "RL.FIXED k 10 3650d 4")
	other.Process.Kill()
	<-other.ended
	again, next := freeAddress(t), dir+"-next"
	recovers := []string{"recover", dir, "--to", next, "--raft", again}
	runsTool(t, "", exitFailure, recovers, "in use")
	r.end(t)
	runsTool(t, "", exitOK, []string{"check", dir}, "MEMBER: good", "votes.db: good", "log: good")
	runsTool(t, "", exitFailure, []string{"check", "--repair", dir}, "--join")
	runsTool(t, "", exitUsage, []string{"recover", dir, "--raft", again}, "--to NEW")
	runsTool(t, "", exitUsage, []string{"recover", dir, "--to", next}, "--raft HOST:PORT", "--single")
	runsTool(t, "", exitUsage, []string{"recover", dir, "--to", next, "--raft", again, "--single"}, "--raft")
	runsTool(t, "", exitFailure, []string{"recover", dir, "--to", next, "--raft", "nowhere", "--yes"}, "HOST:PORT")
	runsTool(t, "", exitFailure, []string{"recover", t.TempDir(), "--to", next, "--raft", again}, "is empty")
	runsTool(t, "", exitFailure, []string{"recover", next, "--to", next + "2", "--single"}, "no such file")
	runsTool(t, "", exitFailure, []string{"recover", dir, "--to", lost, "--single", "--yes"}, "is not empty")
	runsTool(t, "", exitOK, []string{"recover", dir}, "a node of a cluster", "members:", first, second, "term:",
		"last entry:", "time:", "ago", "keys:          2")
	runsTool(t, "n\n", exitOK, recovers, "members:", "[y/N]", "Nothing was created")
	if _, err := os.Stat(next); !os.IsNotExist(err) {
		t.Errorf("%s exists without confirmation: %v", next, err)
	}
	runsTool(t, "", exitOK, append(recovers, "--yes"), "Done", "keys:          2", "--join "+again)
	runsTool(t, "", exitFailure, append(recovers, "--yes"), "is not empty")
	runsTool(t, "", exitOK, []string{"check", next}, "MEMBER: good")
	runsTool(t, "", exitOK, []string{"check", dir}, "MEMBER: good")

	_, w = joined(t, "--data", next, "--raft", again)
	if got := fmt.Sprint(w.do(t, "RL.FIXED k 10 3650d 7")); !strings.HasPrefix(got, "[0 10 6 ") {
		t.Errorf("the key is %v, want 6 left of 10", got)
	}
	_, w = joined(t, "--data", t.TempDir(), "--raft", freeAddress(t), "--join", again)
	if got := fmt.Sprint(w.do(t, "RL.FIXED k 10 3650d 6")); !strings.HasPrefix(got, "[1 10 0 ") {
		t.Errorf("at the node that joined the key is %v, want 0 left of 10", got)
	}
}
