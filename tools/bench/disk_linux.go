package main

import (
	"os"
	"syscall"
)

// flush writes a file's content to disk, without its times.
func flush(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
