//go:build !unix

package commands

// cpuSeconds is not supported on this system.
func cpuSeconds() (sys, user float64) { return 0, 0 }
