package persist

import (
	"runtime"
	"syscall"
)

// niceness is that of a thread that lets others go first. Where they want all of a
// processor it gets a tenth, and not less, since it may hold what they wait for.
const niceness = 10

// stepBack has the system let other threads go before the one that carries the
// calling goroutine from now on. It ends with the goroutine.
func stepBack() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), niceness)
}
