package main

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// flush has the disk take a file's bytes, but not its times.
func flush(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// flushAll has the disk take all that was written on this machine, so that what
// one run left to be written does not slow the next.
func flushAll() { syscall.Sync() }

// allocated is how many bytes of the disk a file takes.
func allocated(f fs.FileInfo) int64 {
	if stat, ok := f.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return f.Size()
}

// sleepUntil returns at t or up to a tenth of a millisecond later, where
// time.Sleep on an idle machine is late by up to one (golang/go#44343).
func sleepUntil(t time.Time) {
	for left := time.Until(t); left > 0; left = time.Until(t) {
		span := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&span, nil)
	}
}
