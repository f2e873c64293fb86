package pace

import (
	"runtime"
	"syscall"
)

// niceness is the least nice value of a low-priority thread. If other threads want a whole
// processor, it still gets a tenth, because it may hold locks that they wait for.
const niceness = 10

// LowerPriority locks the calling goroutine to its thread and lowers the priority of the
// thread, unless it is that low already. The thread ends with the goroutine.
func LowerPriority() {
	runtime.LockOSThread()
	thread := syscall.Gettid()
	if now, err := threadNiceness(thread); err == nil && now < niceness {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, thread, niceness)
	}
}

// threadNiceness returns the nice value of a thread, from -20 to 19.
func threadNiceness(thread int) (int, error) {
	inverted, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	return 20 - inverted, err // the system call returns 40 to 1
}
