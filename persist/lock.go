package persist

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// An InUseError says that another process has a data directory.
type InUseError struct {
	Dir string
	Pid int // of that process; 0: it can't be told, as in another container
	Err error
	// lock is the file.
	lock string
}

// newInUse is why a lock could not be taken.
func newInUse(dir, lock string, err error) *InUseError {
	e := &InUseError{Dir: dir, Err: err, lock: lock, Pid: os.Getpid()}
	if errors.As(err, new(syscall.Errno)) { // else it is this process that has it
		e.Pid, _ = holderOf(lock)
	}
	return e
}

func (e *InUseError) Error() string {
	who := "another process, perhaps in another container or on another machine"
	if e.Pid > 0 {
		who = fmt.Sprintf("process %d", e.Pid)
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop the limitsrv that runs on it, or give another directory", e.Dir, who)
}

func (e *InUseError) Unwrap() error { return e.Err }

// Held says whether that is still so, as far as can be told: a process has the lock, or
// the one that had it has not ended, and may have its addresses. It can't be told of this
// process.
func (e *InUseError) Held() bool {
	if e.Pid == os.Getpid() {
		return false
	}
	if _, held := holderOf(e.lock); held {
		return true
	}
	return e.Pid > 0 && isRunning(e.Pid)
}
