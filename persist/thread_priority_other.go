//go:build !linux

package persist

// lowerThreadPriority does nothing on systems without priorities of threads.
func lowerThreadPriority() {}
