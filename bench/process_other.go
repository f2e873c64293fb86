//go:build !linux

package main

import (
	"os"
	"syscall"
	"time"
)

// dieWithParent asks for nothing where the kernel knows no such thing: a child
// then outlives this process if that is killed without a chance to clean up.
func dieWithParent() *syscall.SysProcAttr { return nil }

// killAll kills a child; a process that it has forked ends by itself.
func killAll(child *os.Process) error { return child.Kill() }

// ownCPU is not known here.
func ownCPU() time.Duration { return 0 }

// haveFiles does not know, and lets it be tried.
func haveFiles(int) error { return nil }
