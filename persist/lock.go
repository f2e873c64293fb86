package persist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
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
	return fmt.Sprintf("data directory %s is in use by %s: stop the limitsrv that uses it, or use another directory",
		e.Dir, holder)
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

// lockHolder reports whether another process holds a lock, and its id: 0 if it is in
// another container. It must not be called by the process that holds the lock, which
// would lose it.
func lockHolder(lock string) (pid int, held bool) {
	file, err := os.Open(lock)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	of := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &of); err != nil || of.Type == syscall.F_UNLCK {
		return 0, false
	}
	return max(int(of.Pid), 0), true
}

// isRunning reports whether a process runs. A zombie does not. It returns false on a system without
// /proc.
func isRunning(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return len(state) > 0 && state[0] != 'Z' && state[0] != 'X'
}
