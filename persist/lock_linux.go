package persist

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// holderOf says whether another process has a lock, and which: 0 if it is in another
// container. It must not be called by the process that has it, which would lose it.
func holderOf(lock string) (pid int, held bool) {
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

// isRunning says whether a process has not ended yet: one that nobody has waited for has.
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
