package persist

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// An InUseError reports that another process has locked a data directory.
type InUseError struct {
	Dir string
	Pid int // of that process; 0: unknown, for example in another container
	Err error
	// lock is the path of the lock file.
	lock string
}

// newInUse describes a lock that could not be taken.
func newInUse(dir, lock string, err error) *InUseError {
	e := &InUseError{Dir: dir, Err: err, lock: lock, Pid: os.Getpid()}
	if errors.As(err, new(syscall.Errno)) { // otherwise this process holds it
		e.Pid, _ = lockHolder(lock)
	}
	return e
}

func (e *InUseError) Error() string {
	holder := "another process, perhaps in another container or on another machine"
	if e.Pid > 0 {
		holder = fmt.Sprintf("process %d", e.Pid)
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop the limitsrv that uses it, or use another directory", e.Dir, holder)
}

func (e *InUseError) Unwrap() error { return e.Err }

// Held reports whether the directory is still in use, as far as that can be known: a
// process holds the lock, or the process that held it has not ended and may still hold
// its listening addresses. It returns false if this process holds the lock.
func (e *InUseError) Held() bool {
	if e.Pid == os.Getpid() {
		return false
	}
	if _, held := lockHolder(e.lock); held {
		return true
	}
	return e.Pid > 0 && isRunning(e.Pid)
}
