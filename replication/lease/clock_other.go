//go:build !linux

package lease

import "time"

var begun = time.Now()

// Clock returns the time since the start of the process. It may stop while the machine is
// suspended.
func Clock() time.Duration { return time.Since(begun) }
