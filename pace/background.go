package pace

import (
	"runtime"
	"sync"
)

// Background runs a long computation on a thread of low priority, and returns when it is
// done. A panic of it is one of the caller.
//
// The runtime gets one processor (GOMAXPROCS) more for that time. Otherwise other goroutines
// would wait for the one that the thread holds, also while the kernel lets the thread wait.
//
// Concurrency: any goroutine. Cost: a thread, and twice some 50 us for all goroutines.
func Background(compute func()) {
	extraProcessors(1)
	defer extraProcessors(-1)
	panicked := any(nil)
	var done sync.WaitGroup
	done.Go(func() {
		defer func() { panicked = recover() }()
		LowerPriority()
		compute()
	})
	done.Wait()
	if panicked != nil {
		panic(panicked)
	}
}

var processors sync.Mutex

// extraProcessors adds n to GOMAXPROCS.
func extraProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}
