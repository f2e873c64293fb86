package lease

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2). It is never set, and advances while the
// machine is suspended.
const clockBoottime = 7

// Clock returns the time since the start of the machine, including the time while it was
// suspended. A virtual machine may not count the time while its host halts it. A result may be too
// early or too late, by at most 0.1 ms. Cost: as [time.Now]. The first call after a suspension also
// costs a system call, and so does the first call after somebody has set the wall clock.
func Clock() time.Duration {
	now := time.Now()
	mono := now.Sub(begun)
	return bootTime.at(time.Duration(now.UnixNano()-begun.UnixNano()), mono)
}

var (
	begun    = time.Now()
	bootTime = bootClock{read: readBootTime, mono: func() time.Duration { return time.Since(begun) }}
)

// A bootClock computes CLOCK_BOOTTIME from the wall clock and the monotonic clock, which Go reads
// without a system call. When the machine wakes from a suspension, Linux moves the wall clock and
// CLOCK_BOOTTIME by the same time, and the monotonic clock not at all. So while the distance between
// the wall clock and the monotonic clock stays the same, the distance between CLOCK_BOOTTIME and the
// monotonic clock does too. A clock that is only made faster or slower keeps these distances.
// Concurrency: any goroutine.
type bootClock struct {
	read func() time.Duration // reads CLOCK_BOOTTIME
	mono func() time.Duration
	last atomic.Pointer[distances]
}

// distances are the distances of two clocks from the monotonic clock at one moment.
type distances struct{ wall, boot time.Duration }

const (
	// A larger change of distances.wall means that the machine was suspended, or the wall clock set.
	// It is larger than the time between the two readings of [time.Now].
	wallChange = time.Millisecond
	// The error of distances.boot is at most maxReading.
	maxReading = 100 * time.Microsecond
)

// at returns CLOCK_BOOTTIME at a moment with these readings. Requires: the wall clock was read no
// later than the monotonic clock.
func (c *bootClock) at(wall, mono time.Duration) time.Duration {
	d := c.last.Load()
	if d != nil && (wall-mono-d.wall).Abs() < wallChange {
		return mono + d.boot
	}
	before := c.mono()
	boot := c.read()
	if c.mono()-before <= maxReading {
		c.last.Store(&distances{wall: wall - mono, boot: boot - before})
	}
	return boot
}

func readBootTime() time.Duration {
	var at syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)),
		0); errno != 0 {
		panic("clock_gettime of CLOCK_BOOTTIME: " + errno.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(at.Nano())
}
