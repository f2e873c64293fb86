package main

import "syscall"

// killWithParent makes the kernel kill a child when the thread that started it ends.
// main locks its goroutine to its thread, so that this is the end of the process. The
// child leads a process group, for killAll.
func killWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
