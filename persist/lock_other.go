//go:build !linux

package persist

// lockHolder is not implemented on this system.
func lockHolder(string) (pid int, held bool) { return 0, false }

// isRunning is not implemented on this system.
func isRunning(int) bool { return false }
