//go:build !linux

package main

import "syscall"

// killWithParent makes a child lead a process group, for killAll. The kernel has no feature to
// kill a child with its parent: a child outlives this process if that is killed before it can
// clean up.
func killWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
