//go:build !unix

package commands

// cpuSeconds are not known here.
func cpuSeconds() (sys, user float64) { return 0, 0 }
