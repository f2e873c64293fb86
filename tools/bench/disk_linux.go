package main

import (
	"io/fs"
	"os"
	"syscall"
	"time"
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

// sleepUntil returns at t or up to 0.1 ms later. time.Sleep on an idle machine is late
// by up to 1 ms (golang/go#44343).
func sleepUntil(t time.Time) {
	for left := time.Until(t); left > 0; left = time.Until(t) {
		span := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&span, nil)
	}
}
