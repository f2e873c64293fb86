package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// holdingArgs are the arguments of servers that hold a data directory: a single server
// and a node of a cluster.
var holdingArgs = map[string]func(t *testing.T) []string{
	"by itself": func(*testing.T) []string { return nil },
	"a member": func(t *testing.T) []string {
		raft := freeAddress(t)
		return []string{"--raft", raft, "--peers", raft}
	},
}

// TestLockWait starts a second server on a data directory: it logs the process that holds
// it, waits for the end of that, and loads the state. A signal ends the wait.
func TestLockWait(t *testing.T) {
	for name, more := range holdingArgs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(more(t), "--data", filepath.Join(t.TempDir(), "data"))
			first := serve(t, args...)
			w := wired(t, first.address)
			until(t, "the first server decides", func() bool {
				list, ok := w.do(t, "RL.FIXED key 10 3650d 4").([]any)
				return ok && list[0] == int64(1)
			})
			holds := fmt.Sprintf("process %d", first.Process.Pid)
			waits := func() *running {
				r := launchAt(t, freeAddress(t), append([]string{"--lock-wait", "5m"}, args...)...)
				until(t, "the wait is logged", func() bool {
					return strings.Contains(r.logged(), "held by another process") &&
						strings.Contains(r.logged(), fmt.Sprintf("pid=%d", first.Process.Pid))
				})
				return r
			}

			asked := waits()
			asked.Process.Signal(syscall.SIGTERM)
			if code := asked.exit(t); code != exitOK {
				t.Errorf("SIGTERM during the wait: exit %d\n%s", code, asked.logged())
			}
			for _, wait := range []string{"0", "120ms"} {
				_, log, code := runs(t, limitsrv(nil,
					append([]string{"--lock-wait", wait, "--listen", freeAddress(t)}, args...)...))
				if code != exitFailure || !strings.Contains(log, holds) || !strings.Contains(log, "stop the limitsrv") {
					t.Errorf("--lock-wait %s: exit %d, want %d and %q in\n%s", wait, code, exitFailure, holds, log)
				}
			}

			next := waits()
			first.Process.Kill()
			until(t, "it listens", func() bool { return strings.Contains(next.logged(), "msg=listening") })
			if n := strings.Count(next.logged(), "held by another process"); n != 1 {
				t.Errorf("the wait is logged %d times, want once", n)
			}
			w = wired(t, next.address)
			until(t, "the state is loaded", func() bool {
				return strings.Contains(fmt.Sprint(w.do(t, "RL.PEEK key")), " 10 6 ")
			})
		})
	}
}
