//go:build unix

package commands

import "syscall"

// cpuSeconds returns the CPU time of the process in the kernel and in user mode.
func cpuSeconds() (sys, user float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return float64(u.Stime.Nano()) / 1e9, float64(u.Utime.Nano()) / 1e9
}
