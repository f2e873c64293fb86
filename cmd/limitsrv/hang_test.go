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
)

// hangFile in the environment of a server names a file. While that exists no operation
// on the server's files returns, and the first of them makes another one, hangFile with
// the suffix hungSuffix.
const (
	hangFile   = "TEST_BINARY_HANG_FILE"
	hungSuffix = ".hung"
)

// plantHang has the disk of this process hang while file exists.
func plantHang(file string) {
	vfs.Default = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(errorfs.Op) error {
		if _, err := os.Stat(file); err == nil {
			os.WriteFile(file+hungSuffix, nil, 0o600)
			select {}
		}
		return nil
	}))
}

// A hangingDisk is that of a server that serveHanging started.
type hangingDisk struct{ file string }

// hang has the disk hang from now on.
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

// onHangingDisk starts a server whose disk can hang.
func onHangingDisk(t *testing.T, begins func(hangingDisk), args ...string) (*running, hangingDisk) {
	t.Helper()
	d := hangingDisk{filepath.Join(t.TempDir(), "hang")}
	begins(d)
	return launchWith(t, []string{hangFile + "=" + d.file}, freeAddress(t), args...), d
}

func works(hangingDisk) {}

// terminated sends SIGTERM until the server has ended: the second one counts as well,
// whenever the first was received.
func terminated(t *testing.T, r *running) {
	t.Helper()
	until(t, "it has ended", func() bool {
		r.Process.Signal(syscall.SIGTERM)
		return r.isOver()
	})
}

// startsThatHang are the ways to start on a data directory.
func startsThatHang(t *testing.T) map[string][]string {
	raft := freeAddress(t)
	return map[string][]string{
		"by itself":          {"--data", t.TempDir()},
		"founding a cluster": {"--data", t.TempDir(), "--raft", raft, "--peers", raft},
		"joining a cluster":  {"--data", t.TempDir(), "--raft", raft, "--join", freeAddress(t)},
	}
}

// A second signal ends a server whose disk hangs at the start, and one signal does when
// --drain is over.
func TestStopWhileTheStartHangs(t *testing.T) {
	for name, args := range startsThatHang(t) {
		for _, tt := range []struct{ drain, want string }{{"1h", errSecondSignal.Error()}, {"100ms", errLate.Error()}} {
			r, d := onHangingDisk(t, func(d hangingDisk) { d.hang(t) }, append(args, "--drain", tt.drain)...)
			d.hung(t)
			if tt.drain == "1h" {
				terminated(t, r)
			} else {
				r.Process.Signal(syscall.SIGTERM)
			}
			if code := r.exit(t); code != exitFailure || !strings.Contains(r.logged(), tt.want) {
				t.Errorf("%s, --drain %s: exit %d, want 1 and %q in\n%s", name, tt.drain, code, tt.want, r.logged())
			}
		}
	}
}

// A server whose disk hangs while it serves, or takes a snapshot, ends in time.
func TestStopWhileTheDiskHangs(t *testing.T) {
	for _, command := range []string{"RL.FIXED k 10 1d", "SAVE", "RL.BACKUP b"} {
		for _, tt := range []struct{ drain, want string }{{"1h", errSecondSignal.Error()}, {"100ms", ""}} {
			r, d := onHangingDisk(t, works, "--data", t.TempDir(), "--fsync", "always", "--drain", tt.drain)
			w := connected(t, r)
			w.do(t, "RL.FIXED first 10 1d")
			d.hang(t)
			if _, err := w.Write([]byte(command + "\r\n")); err != nil {
				t.Fatal(err)
			}
			d.hung(t)
			if tt.drain == "1h" {
				terminated(t, r)
			} else {
				r.Process.Signal(syscall.SIGTERM)
			}
			if code := r.exit(t); code != exitFailure || !strings.Contains(r.logged(), tt.want) {
				t.Errorf("%s, --drain %s: exit %d, want 1 and %q in\n%s", command, tt.drain, code, tt.want, r.logged())
			}
		}
	}
}

// connected waits until a server that was launched answers.
func connected(t *testing.T, r *running) *wire {
	t.Helper()
	until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") || r.isOver() })
	w := wired(t, r.address)
	until(t, "it decides", func() bool {
		replies, err := w.all("RL.FIXED ready 1000000 1d")
		if err != nil {
			return false
		}
		_, failed := replies[0].(replyError)
		return !failed
	})
	return w
}

// A leader whose disk hangs ends in time, by one signal, by two, and by itself, although
// its leadership can't be transferred: raft waits for the disk.
func TestStopOfALeaderWhoseDiskHangs(t *testing.T) {
	for _, signals := range []int{1, 2} {
		a, b := freeAddress(t), freeAddress(t)
		peers := []string{"--peers", a + "," + b, "--drain", "4s"}
		serve(t, append(peers, "--data", t.TempDir(), "--raft", b)...)
		r, d := onHangingDisk(t, works, append(peers, "--data", t.TempDir(), "--raft", a)...)
		w := connected(t, r)
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
			terminated(t, r)
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
		if l.clients.Sub(begun) != tt.clients || l.end.Sub(begun) != tt.end || l.transfer.After(l.clients) || l.save.Before(l.clients) || !l.save.Before(l.end) {
			t.Errorf("--drain %v: %+v, want clients until %v and the end at %v", tt.drain, l, tt.clients, tt.end)
		}
	}
}
