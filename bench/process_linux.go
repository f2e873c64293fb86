package main

import (
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
