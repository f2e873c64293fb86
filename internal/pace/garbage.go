package pace

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// growth is the growth of the heap between two garbage collections, as set by SetGrowth.
var growth struct {
	sync.Mutex
	usual, raised int // in percent of the heap in use; 0: not set
	isRaised      bool
	backgrounds   int  // that run
	garbage       bool // a Background has begun since the last Collect
}

// SetGrowth sets the growth of the heap between two garbage collections, in percent of the
// heap in use: usual, and raised from the start of a Background until Collect. Cost: the
// program is stopped for some 20 us.
func SetGrowth(usual, raised int) {
	growth.Lock()
	defer growth.Unlock()
	growth.usual, growth.raised = usual, raised
	setGrowth(growth.isRaised)
}

// setGrowth sets the usual growth or the raised growth. The caller must hold growth.
func setGrowth(raise bool) {
	if growth.isRaised = raise; raise {
		debug.SetGCPercent(growth.raised)
	} else {
		debug.SetGCPercent(growth.usual)
	}
}

// raiseGrowth raises the growth, if it is set, for a Background, which must call done at its
// end. A collection that begins on a thread of low priority stops the program for as long as
// the kernel lets that thread wait, and its workers take a part of each processor.
func raiseGrowth() (done func()) {
	growth.Lock()
	defer growth.Unlock()
	growth.backgrounds++
	growth.garbage = true
	if !growth.isRaised && growth.raised > 0 {
		setGrowth(true)
	}
	return func() {
		growth.Lock()
		defer growth.Unlock()
		growth.backgrounds--
	}
}

// Collect collects the garbage that a Background has left and sets the usual growth, unless no
// Background has run since the last Collect, or a Background still runs. Concurrency: any
// goroutine of normal priority. Cost: a collection, for which it blocks.
func Collect() {
	if mayCollect() {
		runtime.GC() // before, because beyond the usual growth each allocation would have to help
		collected()
	}
}

// mayCollect reports whether the growth is raised and no Background runs.
func mayCollect() bool {
	growth.Lock()
	defer growth.Unlock()
	if !growth.isRaised || growth.backgrounds > 0 {
		return false
	}
	growth.garbage = false
	return true
}

// collected sets the usual growth, unless a Background has begun since mayCollect.
func collected() {
	growth.Lock()
	defer growth.Unlock()
	setGrowth(growth.garbage)
}
