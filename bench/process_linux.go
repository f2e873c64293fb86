package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// dieWithParent has the kernel kill a child when the thread that started it
// ends, however it ends. main keeps its thread for itself, so that this is the
// end of the process. The child leads a group of processes, for killAll.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killAll kills a child and the processes that it has forked, such as the one
// that writes a snapshot of Redis and would outlive it.
func killAll(child *os.Process) error { return syscall.Kill(-child.Pid, syscall.SIGKILL) }

// ownCPU is the processor time that this process and its children that have ended
// have used.
func ownCPU() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if syscall.Getrusage(who, &used) == nil {
			total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
	}
	return total
}

// haveFiles says whether this process, and so a server that it starts, may have so
// many files open. The Go runtime has raised the limit as far as it may.
func haveFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if limit.Cur < uint64(n) {
		return fmt.Errorf("%d open files are needed, and this machine allows %d; see ulimit -n, or take fewer -siege-conns", n, limit.Cur)
	}
	return nil
}
