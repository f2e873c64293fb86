package main

import "syscall"

// dieWithParent has the kernel kill a child when the thread that started it
// ends, however it ends. main keeps its thread for itself, so that this is the
// end of the process.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
