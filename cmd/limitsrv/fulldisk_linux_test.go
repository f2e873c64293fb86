package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// onSmallDisk in the environment is the mount point of a small disk, in a process with
// its own mounts.
const onSmallDisk = "TEST_BINARY_SMALL_DISK"

const (
	diskBytes    = 16 << 20
	maxShmBytes  = 512 << 20 // largest /dev/shm to fill; a container's has 64 MB
	recoversSoon = time.Minute
)

// TestFullDisk mounts a tmpfs in a process of its own, with its privileges or as root
// in a namespace. If that is not permitted it uses /dev/shm, if that is small as in
// containers.
func TestFullDisk(t *testing.T) {
	testwait.Long(t)
	if dir := os.Getenv(onSmallDisk); dir != "" {
		if err := syscall.Mount("limitsrv-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskBytes)); err != nil {
			t.Fatal("mount: " + err.Error())
		}
		fullDisk(t, dir)
		return
	}
	flags, err := mounting(t)
	if err != nil {
		fullDisk(t, smallShm(t, err))
		return
	}
	out, err := inNamespaces(t, flags, onSmallDisk+"="+t.TempDir())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("on a tmpfs of %d MB\n%s", diskBytes>>20, out)
}

// mountSmall mounts a tmpfs of diskBytes at $0, and runs the program in the arguments.
var mountSmall = fmt.Sprintf(`mount -t tmpfs -o size=%d limitsrv-test "$0" && exec "$@"`, diskBytes)

// mounting returns the namespaces in which a process can mount a disk.
func mounting(t *testing.T) (namespaces uintptr, err error) {
	t.Helper()
	dir, failures := t.TempDir(), []error(nil)
	for _, namespaces := range []uintptr{syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER, syscall.CLONE_NEWNS} {
		probe := exec.Command("sh", "-c", mountSmall, dir, "true")
		probe.SysProcAttr = isolated(&syscall.SysProcAttr{}, namespaces)
		out, err := probe.CombinedOutput()
		if err == nil {
			return namespaces, nil
		}
		failures = append(failures, fmt.Errorf("%s%w", out, err))
	}
	return 0, errors.Join(failures...)
}

// isolated adds namespaces to the attributes of a process, which is root in a namespace of users.
func isolated(attr *syscall.SysProcAttr, namespaces uintptr) *syscall.SysProcAttr {
	attr.Cloneflags |= namespaces
	if namespaces&syscall.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// smallShm returns a directory in /dev/shm, which must be small because a disk can't be mounted.
func smallShm(t *testing.T, why error) (dir string) {
	t.Helper()
	var shm syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &shm); err != nil || int64(shm.Blocks)*shm.Bsize > maxShmBytes {
		t.Fatalf("no small disk: a tmpfs can't be mounted (%v), which requires CAP_SYS_ADMIN or user namespaces, and "+
			"/dev/shm is larger than %d MB (%v)", why, maxShmBytes>>20, err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "limitsrv-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// withSmallDisk makes a directory, which is a small disk for the program only.
func withSmallDisk(t *testing.T, program *exec.Cmd, dir string) {
	t.Helper()
	namespaces, err := mounting(t)
	if err != nil {
		err = os.Symlink(smallShm(t, err), dir)
	} else {
		err = os.Mkdir(dir, 0o700)
		isolated(program.SysProcAttr, namespaces)
		shell := exec.Command("sh", append([]string{"-c", mountSmall, dir}, program.Args...)...)
		program.Path, program.Args = shell.Path, shell.Args
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inNamespaces runs a test in a process with its own namespaces, a setting in its
// environment, and further flags. The servers that it starts always end with it.
func inNamespaces(t *testing.T, namespaces uintptr, setting string, flags ...string) (out string, err error) {
	command := exec.Command(os.Args[0],
		append([]string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=5m"}, flags...)...)
	command.Env = append(os.Environ(), setting)
	command.SysProcAttr = isolated(&syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, namespaces|syscall.CLONE_NEWPID)
	text, err := command.CombinedOutput()
	return string(text), err
}

// fullDisk fills the disk of a directory, under each policy.
func fullDisk(t *testing.T, dir string) {
	for _, fsync := range fsyncs {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed=%v", fsync, killed), func(t *testing.T) {
				d := &smallDisk{filler: filepath.Join(dir, "filler"), data: filepath.Join(dir, "data")}
				defer os.RemoveAll(d.data)
				defer os.Remove(d.filler)
				d.args = []string{"--fsync", fsync, "--snapshot-log-bytes", "1mb"}
				d.r, d.w = serveData(t, d.data, d.args...)
				d.take(t, 50)
				d.fill(t)
				if fsync == "always" {
					d.wantRejections(t)
				} else {
					d.wantDecisions(t)
				}
				if killed {
					d.killedWhileFull(t)
				} else {
					d.freeAndAwait(t)
				}
				d.take(t, 50)
				d.r.Process.Signal(syscall.SIGKILL)
				<-d.r.ended
				d.r, d.w = serveData(t, d.data, d.args...)
				d.audit(t)
				endBy(t, d.r, d.w, "SHUTDOWN")
			})
		}
	}
}

// A smallDisk is a small disk with a server on it.
type smallDisk struct {
	filler, data string
	args         []string
	r            *running
	w            *wire
	acked        int64 // decisions
	safe         int64 // decisions before the disk was full
}

const diskKey, diskLimit = "RL.FIXED k%d 1000000000 3650d", 1_000_000_000

// diskKeys is the number of keys of the decisions.
const diskKeys = 100

// takeOne requests a decision per key, and returns the replies without a permission.
func (d *smallDisk) takeOne(t *testing.T) (refusals []any) {
	t.Helper()
	var commands [diskKeys]string
	for i := range commands {
		commands[i] = fmt.Sprintf(diskKey, i)
	}
	replies, err := d.w.all(commands[:]...)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.r.logged())
	}
	for _, reply := range replies {
		if list, ok := reply.([]any); ok && list[0] == int64(1) {
			d.acked++
		} else {
			refusals = append(refusals, reply)
		}
	}
	return refusals
}

// take requests decisions, and requires all of them to be allowed.
func (d *smallDisk) take(t *testing.T, rounds int) {
	t.Helper()
	for range rounds {
		if refusals := d.takeOne(t); len(refusals) > 0 {
			t.Fatalf("reply to a decision = %v\n%s", refusals[0], d.r.logged())
		}
	}
}

// fill uses all space of the disk.
func (d *smallDisk) fill(t *testing.T) {
	t.Helper()
	file, err := os.Create(d.filler)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// counted returns the number of decisions in the state.
func (d *smallDisk) counted(t *testing.T) (sum int64) {
	t.Helper()
	for i := range diskKeys {
		n, err := used(d.w.do(t, fmt.Sprintf("RL.PEEK k%d", i)), diskLimit)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// audit compares the state with the acknowledged decisions.
func (d *smallDisk) audit(t *testing.T) {
	t.Helper()
	if kept := d.counted(t); kept != d.acked {
		t.Errorf("%d decisions are counted, %d were acknowledged\n%s", kept, d.acked, d.r.logged())
	}
}

// wantRejections checks the policy always on a full disk: no decision is made that is
// not on disk.
func (d *smallDisk) wantRejections(t *testing.T) {
	t.Helper()
	var refusals []any
	until(t, "the disk is full", func() bool {
		for range 20 {
			if refusals = d.takeOne(t); len(refusals) > 0 {
				return true
			}
		}
		return false
	})
	refusals = append(refusals, d.takeOne(t)...)
	if len(refusals) < diskKeys {
		t.Errorf("with a full disk only %d decisions are rejected", len(refusals))
	}
	for _, reply := range refusals {
		if !isError(reply, "MISCONF") {
			t.Fatalf("reply to a decision with a full disk = %v", reply)
		}
	}
	d.safe = d.acked
	d.audit(t) // reads are possible, and nothing was applied
	d.wantReported(t)
}

// wantDecisions checks the other policies on a full disk.
func (d *smallDisk) wantDecisions(t *testing.T) {
	t.Helper()
	until(t, "the disk is full", func() bool {
		d.take(t, 20)
		if d.w.info(t, "aof_last_write_status") == "err" {
			return true
		}
		d.safe = d.acked
		return false
	})
	d.take(t, 50)
	d.audit(t)
	d.wantReported(t)
}

// wantReported checks INFO and the log on a full disk.
func (d *smallDisk) wantReported(t *testing.T) {
	t.Helper()
	for field, want := range map[string]string{"aof_last_write_status": "err", "persist_error": "no space left"} {
		if got := d.w.info(t, field); !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	d.r.log.Await(t, "the disk has failed")
	if n := strings.Count(d.r.logged(), "the disk has failed"); n != 1 {
		t.Errorf("the disk failure is logged %d times, want once\n%s", n, d.r.logged())
	}
}

// freeAndAwait frees space, and waits until the server recovers.
func (d *smallDisk) freeAndAwait(t *testing.T) {
	t.Helper()
	begin := time.Now()
	if err := os.Remove(d.filler); err != nil {
		t.Fatal(err)
	}
	testwait.Retry(t, recoversSoon, func() error {
		if d.w.info(t, "aof_last_write_status") != "ok" {
			return fmt.Errorf("no decision after space was freed\n%s", d.r.logged())
		}
		return nil
	})
	if got := d.w.info(t, "persist_error"); got != "" {
		t.Errorf("persist_error is %q, want none", got)
	}
	t.Logf("recovered %v after there was room", time.Since(begin).Round(10*time.Millisecond))
}

// killedWhileFull kills the server and restarts it, first with the disk full, when it
// must serve or report the reason, and then with free space.
func (d *smallDisk) killedWhileFull(t *testing.T) {
	t.Helper()
	d.r.Process.Signal(syscall.SIGKILL)
	<-d.r.ended
	r := launch(t, append([]string{"--data", d.data}, d.args...)...)
	until(t, "the state is loaded or the server ends",
		func() bool { return r.isOver() || strings.Contains(r.logged(), "state loaded") })
	if r.isOver() && (r.ProcessState.ExitCode() != exitFailure || !strings.Contains(r.logged(), "no space left")) {
		t.Errorf("a start on a full disk ended with %v\n%s", r.ProcessState, r.logged())
	}
	t.Logf("started on a full disk it serves: %v", !r.isOver())
	r.Process.Signal(syscall.SIGKILL)
	<-r.ended
	if err := os.Remove(d.filler); err != nil {
		t.Fatal(err)
	}
	d.r, d.w = serveData(t, d.data, d.args...)
	// Decisions made while the disk was full may be lost.
	kept := d.counted(t)
	if kept < d.safe || kept > d.acked {
		t.Errorf("%d decisions are counted, %d were acknowledged, %d of them before the disk was full", kept, d.acked, d.safe)
	}
	d.acked = kept
}
