package pace

import (
	"runtime"
	"syscall"
	"testing"
)

// TestLowerPriority: the thread of the computation has the low priority, other threads do not.
func TestLowerPriority(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := nice(t)
	got := -1
	Background(func() { got = nice(t) })
	if want := max(before, niceness); got != want {
		t.Errorf("niceness %d of the computation, want %d", got, want)
	}
	if after := nice(t); after != before {
		t.Errorf("niceness %d of the caller, want %d", after, before)
	}
}

// TestLowerPriorityRaisesNone: a thread of lower priority keeps it. A process of root, or
// with CAP_SYS_NICE, could raise it.
func TestLowerPriorityRaisesNone(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		for _, before := range []int{niceness - 1, niceness, niceness + 1, 19} {
			before = max(before, nice(t)) // without rights it can only rise
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), before); err != nil {
				t.Error(err)
			}
			LowerPriority()
			if got, want := nice(t), max(before, niceness); got != want {
				t.Errorf("niceness %d of a thread that had %d, want %d", got, before, want)
			}
		}
	}()
	<-done
}

// nice returns the niceness of the calling thread.
func nice(t *testing.T) int {
	t.Helper()
	value, err := threadNiceness(syscall.Gettid())
	if err != nil {
		t.Error(err)
	}
	return value
}
