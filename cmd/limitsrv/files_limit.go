//go:build linux || darwin

package main

import (
	"fmt"
	"syscall"
)

// raiseFileLimit raises the limit of open files to at least n, if the system permits
// it.
func raiseFileLimit(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if limit.Cur >= uint64(n) {
		return nil
	}
	wanted := limit
	wanted.Cur = uint64(n)
	wanted.Max = max(limit.Max, wanted.Cur)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &wanted); err != nil {
		return fmt.Errorf("limit of open files is %d, %d are needed: %w", limit.Cur, n, err)
	}
	return nil
}

// hideNewFiles gives access to new files of this process to their owner only, because they hold the
// state or secrets.
func hideNewFiles() { syscall.Umask(0o077) }
