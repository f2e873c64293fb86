//go:build !linux

package persist

// stepBack does nothing where a thread has no priority of its own.
func stepBack() {}
