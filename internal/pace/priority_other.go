//go:build !linux

package pace

// LowerPriority does nothing on systems without priorities of threads.
func LowerPriority() {}
