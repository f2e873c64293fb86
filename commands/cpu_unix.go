//go:build unix

package commands

import "syscall"

// cpuSeconds are those that the process has used in the kernel and outside.
func cpuSeconds() (sys, user float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return float64(u.Stime.Nano()) / 1e9, float64(u.Utime.Nano()) / 1e9
}
