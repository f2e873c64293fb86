//go:build !linux

package server

import "time"

var processStart = time.Now()

// threadTime returns the time in nanoseconds since the start of the process, in place of the
// thread's.
func threadTime() int64 { return int64(time.Since(processStart)) }
