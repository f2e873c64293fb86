package main

import (
	"os"
	"runtime"
	"syscall"
)

// timerSlack is the permitted delay, in nanoseconds, of the wake-up of a sleeping thread of a
// node of a cluster. Go's monitor sleeps for 20 us at a time as long as goroutines make
// system calls, and a node's goroutines always do. With the 50 us of the kernel it took a
// fifth of the processor time of a node; with 500 us three nodes take 20 to 24 % less, and
// decide 12 to 17 % more. Other timers of a node are ten milliseconds and more.
const timerSlack = 500_000

// slackSet is the environment variable that the second start sees, so that there is no third.
const slackSet = "_LIMITSRV_TIMER_SLACK"

// Commands of prctl(2).
const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// restartWithTimerSlack sets timerSlack and executes the program again, under its process id
// and with its arguments: a thread has the slack of the thread that has started it, and the
// monitor is older than any function of this program. It returns if that has been done, or if
// the system does not permit it.
func restartWithTimerSlack() {
	if _, again := os.LookupEnv(slackSet); again {
		_ = os.Unsetenv(slackSet)
		return
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	had, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if errno != 0 || had >= timerSlack {
		return
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, timerSlack, 0); errno == 0 {
		_ = syscall.Exec(program, os.Args, append(os.Environ(), slackSet+"=1"))
	}
}
