package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// killWithParent makes the kernel kill a child when the thread that started it ends.
// main locks its goroutine to its thread, so that this is the end of the process. The
// child leads a process group, for killAll.
func killWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killAll kills a child and the processes that it has forked, for example the one that
// writes a snapshot of Redis and would outlive it.
func killAll(child *os.Process) error { return syscall.Kill(-child.Pid, syscall.SIGKILL) }

// ownCPU returns the processor time used by this process and its finished children.
func ownCPU() time.Duration {
	var total time.Duration
	for _, target := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if syscall.Getrusage(target, &used) == nil {
			total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
	}
	return total
}

// haveFiles returns an error if this process, and thus a server that it starts, can't
// have n files open. The Go runtime has already raised the soft limit to the hard
// limit.
func haveFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if limit.Cur < uint64(n) {
		return fmt.Errorf("%d open files are needed, and this machine allows %d; see ulimit -n, or reduce -siege-conns", n, limit.Cur)
	}
	return nil
}
