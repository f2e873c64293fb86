//go:build !linux

package main

// restartWithTimerSlack does nothing on systems without a slack of timers.
func restartWithTimerSlack() {}
