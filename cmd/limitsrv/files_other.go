//go:build !linux && !darwin

package main

// wantFiles leaves the limit of open files to whoever starts the server.
func wantFiles(int) error { return nil }
