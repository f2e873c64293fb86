package pace

import (
	"runtime"
	"testing"
)

// TestOthersRun: on one processor, another goroutine runs during a computation that is far
// shorter than the 10 ms after which the runtime would interrupt it.
func TestOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ran := false
	go func() { ran = true }()
	var p Pace
	for range stepsPerLook {
		p.Step()
	}
	if !ran {
		t.Error("the other goroutine did not run")
	}
}
