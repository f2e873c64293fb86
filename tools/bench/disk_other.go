//go:build !linux

package main

import (
	"io/fs"
	"os"
)

// flush writes a file's content to disk.
func flush(f *os.File) error { return f.Sync() }

// flushAll does nothing, because there is no portable way.
func flushAll() {}

// allocated returns the length of a file. Its size on disk may differ.
func allocated(f fs.FileInfo) int64 { return f.Size() }
