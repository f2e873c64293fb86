//go:build !linux

package main

import (
	"os"
	"syscall"
	"time"
)

// killWithParent does nothing, because the kernel has no such feature: a child outlives
// this process if that is killed before it can clean up.
func killWithParent() *syscall.SysProcAttr { return nil }

// killAll kills a child. A process that it has forked ends by itself.
func killAll(child *os.Process) error { return child.Kill() }

// ownCPU returns 0, because the time is not available here.
func ownCPU() time.Duration { return 0 }

// haveFiles returns nil, because the limit is not known here.
func haveFiles(int) error { return nil }
