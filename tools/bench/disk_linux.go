package main

import (
	"io/fs"
	"os"
	"syscall"
)

// flush writes a file's content to disk, without its times.
func flush(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// flushAll writes all dirty pages of this machine to disk, so that writes left over
// from one run do not slow the next.
func flushAll() { syscall.Sync() }

// allocated returns the bytes on disk of a file.
func allocated(f fs.FileInfo) int64 {
	if stat, ok := f.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return f.Size()
}
