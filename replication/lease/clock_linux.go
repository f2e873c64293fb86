package lease

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2): it is never set, and goes on while the
// machine is suspended.
const clockBoottime = 7

// Clock returns the time since the start of the machine, with the time in which it was suspended.
// A virtual machine that its host halts may not count that. Cost: a system call.
func Clock() time.Duration {
	var at syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)), 0); errno != 0 {
		panic("clock_gettime of CLOCK_BOOTTIME: " + errno.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(at.Nano())
}
