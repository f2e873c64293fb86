package lease

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2). It is never set, and advances while the
// machine is suspended.
const clockBoottime = 7

// Clock returns the time since the start of the machine, including the time while it was
// suspended. A virtual machine may not count the time while its host halts it. Cost: a system
// call.
func Clock() time.Duration {
	var at syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)),
		0); errno != 0 {
		panic("clock_gettime of CLOCK_BOOTTIME: " + errno.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(at.Nano())
}
