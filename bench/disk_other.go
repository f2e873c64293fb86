//go:build !linux

package main

import (
	"io/fs"
	"os"
	"time"
)

// flush has the disk take a file's bytes.
func flush(f *os.File) error { return f.Sync() }

// flushAll does nothing where there is no portable way to do it.
func flushAll() {}

// allocated is the length of a file, which on disk may take more or less.
func allocated(f fs.FileInfo) int64 { return f.Size() }

// sleepUntil returns at t or somewhat later.
func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }
