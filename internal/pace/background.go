package pace

import (
	"runtime"
	"sync"
)

// Background runs a long computation on a thread of low priority, and returns when it is
// done. A panic of it is a panic of the caller.
//
// The runtime gets a processor more for that time, see AddProcessors, and its garbage is
// collected later, see SetGrowth. Concurrency: any goroutine. Cost: a thread, twice the 50 us of
// AddProcessors, and the garbage.
func Background(compute func()) {
	defer AddProcessors(1)()
	defer raiseGrowth()()
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

// AddProcessors gives the runtime n processors (GOMAXPROCS) more, for as many threads of low
// priority, until the returned function is called. Otherwise other goroutines would wait for
// those that the threads hold, also while the kernel lets the threads wait. Concurrency: any
// goroutine. Cost: some 50 us for all goroutines, twice.
func AddProcessors(n int) (remove func()) {
	change := func(n int) {
		processors.Lock()
		defer processors.Unlock()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	}
	change(n)
	return func() { change(-n) }
}
