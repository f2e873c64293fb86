package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

// hangFile in the environment of a server names a file. While that exists, operations on
// the server's files hang, and the first of them creates hangFile + hungSuffix.
const (
	hangFile   = "TEST_BINARY_HANG_FILE"
	hungSuffix = ".hung"
)

// hangWhileExists makes the disk of this process hang while file exists.
func hangWhileExists(file string) {
	vfs.Default = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(errorfs.Op) error {
		if _, err := os.Stat(file); err == nil {
			os.WriteFile(file+hungSuffix, nil, 0o600)
			select {}
		}
		return nil
	}))
}

// A hangingDisk is the disk of a server that launchOnHangingDisk started.
type hangingDisk struct{ file string }

// hang makes the disk hang.
func (d hangingDisk) hang(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// hung waits until an operation hangs.
func (d hangingDisk) hung(t *testing.T) {
	t.Helper()
	until(t, "the disk hangs", func() bool {
		_, err := os.Stat(d.file + hungSuffix)
		return err == nil
	})
}

// launchOnHangingDisk starts a server with a disk that can hang.
func launchOnHangingDisk(t *testing.T, begins func(hangingDisk), args ...string) (*running, hangingDisk) {
	testwait.Long(t)
	t.Helper()
	d := hangingDisk{filepath.Join(t.TempDir(), "hang")}
	begins(d)
	return launchWith(t, []string{hangFile + "=" + d.file}, freeAddress(t), args...), d
}

func noHang(hangingDisk) {}

// terminate sends SIGTERM until the server has ended. Each SIGTERM after the first is a
// second signal.
func terminate(t *testing.T, r *running) {
	t.Helper()
	until(t, "it has ended", func() bool {
		r.Process.Signal(syscall.SIGTERM)
		return r.isOver()
	})
}

// startArgs are the ways to start on a data directory.
func startArgs(t *testing.T) map[string][]string {
	raft := freeAddress(t)
	return map[string][]string{
		"a single server":         {"--data", t.TempDir()},
		"bootstrapping a cluster": {"--data", t.TempDir(), "--raft", raft, "--peers", raft},
		"joining a cluster":       {"--data", t.TempDir(), "--raft", raft, "--join", freeAddress(t)},
	}
}

// While the disk hangs at the start, a second signal ends the server, and so does one
// signal after --drain.
func TestStopWhileTheStartHangs(t *testing.T) {
	for name, args := range startArgs(t) {
		for _, tt := range []struct{ drain, want string }{{"1h", errSecondSignal.Error()}, {"100ms", errLate.Error()}} {
			r, d := launchOnHangingDisk(t, func(d hangingDisk) { d.hang(t) }, append(args, "--drain", tt.drain)...)
			d.hung(t)
			if tt.drain == "1h" {
				terminate(t, r)
			} else {
				r.Process.Signal(syscall.SIGTERM)
			}
			if code := r.exit(t); code != exitFailure || !strings.Contains(r.logged(), tt.want) {
				t.Errorf("%s, --drain %s: exit %d, want 1 and %q in\n%s", name, tt.drain, code, tt.want, r.logged())
			}
		}
	}
}

// While the disk hangs, a server that serves or writes a snapshot stops in time.
func TestStopWhileTheDiskHangs(t *testing.T) {
	for _, command := range []string{"RL.FIXED k 10 1d", "SAVE", "RL.BACKUP b"} {
		for _, tt := range []struct{ drain, want string }{{"1h", errSecondSignal.Error()}, {"100ms", ""}} {
			r, d := launchOnHangingDisk(t, noHang, "--data", t.TempDir(), "--fsync", "always", "--drain", tt.drain)
			w := awaitServing(t, r)
			w.do(t, "RL.FIXED first 10 1d")
			d.hang(t)
			if _, err := w.Write([]byte(command + "\r\n")); err != nil {
				t.Fatal(err)
			}
			d.hung(t)
			if tt.drain == "1h" {
				terminate(t, r)
			} else {
				r.Process.Signal(syscall.SIGTERM)
			}
			if code := r.exit(t); code != exitFailure || !strings.Contains(r.logged(), tt.want) {
				t.Errorf("%s, --drain %s: exit %d, want 1 and %q in\n%s", command, tt.drain, code, tt.want, r.logged())
			}
		}
	}
}

// awaitServing waits until a launched server decides, and returns a connection.
func awaitServing(t *testing.T, r *running) *wire {
	t.Helper()
	until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") || r.isOver() })
	w := wired(t, r.address)
	until(t, "it decides", func() bool {
		replies, err := w.all("RL.FIXED ready 1000000 1d")
		if err != nil {
			return false
		}
		_, failed := replies[0].(respclient.Error)
		return !failed
	})
	return w
}

// While its disk hangs a leader stops in time, after one signal or two, although its
// leadership can't be transferred because raft waits for the disk.
func TestStopOfALeaderWhoseDiskHangs(t *testing.T) {
	for _, signals := range []int{1, 2} {
		a, b := freeAddress(t), freeAddress(t)
		peers := []string{"--peers", a + "," + b, "--drain", "4s"}
		serve(t, append(peers, "--data", t.TempDir(), "--raft", b)...)
		r, d := launchOnHangingDisk(t, noHang, append(peers, "--data", t.TempDir(), "--raft", a)...)
		w := awaitServing(t, r)
		until(t, "it leads", func() bool {
			if w.info(t, "role") == "master" {
				return true
			}
			w.do(t, "CLUSTER FAILOVER")
			return false
		})
		d.hang(t)
		if _, err := w.Write([]byte("RL.FIXED k 10 1d\r\n")); err != nil {
			t.Fatal(err)
		}
		d.hung(t)
		begun := time.Now()
		r.Process.Signal(syscall.SIGTERM)
		if signals == 2 {
			terminate(t, r)
		}
		if code := r.exit(t); code != exitFailure {
			t.Errorf("%d signals: exit %d, want 1\n%s", signals, code, r.logged())
		}
		t.Logf("%d signals: ended after %v", signals, time.Since(begun).Round(time.Millisecond))
	}
}

func TestStopLimits(t *testing.T) {
	begun := time.Unix(1000, 0)
	for _, tt := range []struct{ drain, clients, end time.Duration }{
		{0, 0, 2 * time.Second},
		{500 * time.Millisecond, 400 * time.Millisecond, 2400 * time.Millisecond},
		{10 * time.Second, 8 * time.Second, 10 * time.Second},
		{time.Minute, 58 * time.Second, time.Minute},
	} {
		l := newStopLimits(begun, tt.drain)
		if l.clients.Sub(begun) != tt.clients || l.end.Sub(begun) != tt.end || l.transfer.After(l.clients) ||
			l.save.Before(l.clients) || !l.save.Before(l.end) {
			t.Errorf("--drain %v: %+v, want clients until %v and the end at %v", tt.drain, l, tt.clients, tt.end)
		}
	}
}
