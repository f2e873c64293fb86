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

// nice returns the niceness of the thread.
func nice(t *testing.T) int {
	t.Helper()
	inverted, err := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid())
	if err != nil {
		t.Error(err)
	}
	return 20 - inverted // as the system call returns it
}
