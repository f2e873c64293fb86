//go:build !linux

package persist

// holderOf can't tell.
func holderOf(string) (pid int, held bool) { return 0, false }

// isRunning can't tell.
func isRunning(int) bool { return false }
