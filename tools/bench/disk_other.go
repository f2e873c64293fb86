//go:build !linux

package main

import "os"

// flush writes a file's content to disk.
func flush(f *os.File) error { return f.Sync() }
