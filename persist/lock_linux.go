package persist

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

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

// isRunning reports whether a process runs. A zombie does not.
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
