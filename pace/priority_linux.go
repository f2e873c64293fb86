package pace

import (
	"runtime"
	"syscall"
)

// niceness is the nice value of a low-priority thread. If others want a whole processor
// it still gets a tenth, because it may hold locks that they wait for.
const niceness = 10

// LowerPriority locks the calling goroutine to its thread and lowers the priority of the
// thread. The thread ends with the goroutine.
func LowerPriority() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), niceness)
}
